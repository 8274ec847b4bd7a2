import CLinux
import Foundation

/// The least: one epoll set, level-triggered.
enum BareEcho {
    static func start(_ listening: Int32) {
        _ = PlainThread {
            let poll = check("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
            add(listening, to: poll)
            var events = [epoll_event](repeating: epoll_event(), count: 64)
            while true {
                let found = Int(check("epoll_wait", epoll_wait(poll, &events, Int32(events.count), -1)))
                for event in events[..<found] {
                    let descriptor = event.data.fd
                    if descriptor == listening {
                        while let connection = EchoSocket.accept(listening) { add(connection, to: poll) }
                    } else if !EchoSocket.echo(descriptor) {
                        close(descriptor)
                    }
                }
            }
        }
    }

    private static func add(_ descriptor: Int32, to poll: Int32) {
        var event = epoll_event()
        event.events = CLINUX_EPOLLIN
        event.data.fd = descriptor
        check("epoll_ctl", epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event))
    }
}
