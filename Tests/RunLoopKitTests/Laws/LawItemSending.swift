import LoopTestSupport
import TestSupport

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What is sent to items.
extension LawItem {
    func send() {
        // Several at times: if a handler removes or disarms the item, the rest has to wait.
        for _ in 0...(bit(7) && kind == .messagePort ? 2 : 0) { sendOne() }
    }

    private func sendOne() {
        guard let item else { return }
        switch kind {
        case .source0:
            let source = item as! Loop.Source0
            let wake = plan.variant & LawProgram.Item.wakingBit != 0 && player.stepsLeft % 3 > 0
            wakes = wake || wakes && source.isSignalled
            source.signal(wake: wake)
            if isValid { accepted += 1 }
        case .portSource:
            (item as! Loop.PortSource).send()
            if isValid { accepted += 1 }
        case .messagePort:
            let expected = isValid && !hasLostItsLoop
            let isAccepted = (item as! Loop.MessagePort<Message>).send(Message(accepted, player))
            // A message object is made, and later deallocated, in any case.
            if player.isSettled(self) {
                player.expect(isAccepted == expected, "\(self): a message is accepted: \(isAccepted)")
            }
            if isAccepted { accepted += 1 }
        case .borrowedDescriptor, .ownedDescriptor:
            let bytes: [UInt8] = [1]
            if write(ends!.writer, bytes, 1) == 1 { accepted += 1 }
        case .signal:
            let hears = (item as! Loop.SignalSource).listener.hears
            pthread_kill(pthread_self(), signal)
            if player.isSettled(self) {
                player.expect(hears == (isValid && wasInMode), "\(self): hears its signal: \(hears)")
            }
            if hears { accepted += 1 }
        case .process:
            guard !hasChildEnded else { return }
            hasChildEnded = true
            child!.goOn()
            waitForEnd(of: child!.number)
            accepted += 1
        case .childProcess: endChildProcess()
        case .folder:
            folder!.makeFile()
            accepted += 1
        case .connection:
            let bytes = [UInt8(truncatingIfNeeded: accepted)]
            if write(ends!.writer, bytes, 1) == 1 { accepted += 1 }
            sendBack()
        default: break
        }
    }

    /// The connection sends to its peer, which gets it at once.
    private func sendBack() {
        guard player.isSettled(self) else { return }
        let isAccepted = (item as! Loop.Connection).send([7])
        player.expect(isAccepted == isValid, "\(self): sends: \(isAccepted)")
        if isAccepted { player.expect(readText(ends!.writer, 2) == "\u{7}", "\(self): what it sent has not come") }
    }

    func takeWaiting() {
        guard let port = item as? Loop.MessagePort<Message> else { return }
        for message in port.takeWaiting() {
            player.expect(message.number == handled + withdrawn, "\(self): not the next message that waits")
            withdrawn += 1
        }
    }

    func readAll() {
        guard isOpenForUs else { return }
        while let text = ends!.take(), !text.isEmpty { handled += text.utf8.count }
    }

    /// Whether the reading end may be used: an owned one is closed with its source.
    private var isOpenForUs: Bool {
        guard kind.isDescriptor else { return false }
        return kind == .borrowedDescriptor || (item.map { ($0 as! Loop.FileDescriptorSource).descriptor >= 0 } ?? false)
    }

    private func endChildProcess() {
        guard !hasChildEnded else { return }
        hasChildEnded = true
        // Of an invalid one too. Not awaited then: a thread of the library reaps it.
        if bit(8) { (item as! Loop.ChildProcess).end(within: .zero) } else { ends!.send("\n") }
        if isValid { waitForEnd(of: childProcess) }
        accepted += 1
    }

    /// At the end.
    func endChild() {
        if kind == .childProcess, !hasChildEnded { ends!.send("\n") }
        guard let child else { return }
        if !hasChildEnded { child.goOn() }
        reap(child.number)
    }

    /// The element of message ports.
    final class Message: @unchecked Sendable {
        let number: Int
        private unowned let player: LawPlayer

        init(_ number: Int, _ player: LawPlayer) {
            (self.number, self.player) = (number, player)
            player.messagesAlive += 1
        }

        deinit {
            Lock.assertNoneHeld()
            player.messagesAlive -= 1
        }
    }
}

/// So far in the future that it is never due while a program plays.
let farAway = Duration.seconds(100_000)

extension Child {
    /// A shell that waits for `goOn()`, and has started: a new process has all descriptors of its parent until its
    /// program starts, and keeps those open that the parent closes meanwhile.
    static func waiting(toExitWith code: Int) -> Child {
        let (hold, beginning) = (Ends.blockingPipe(), Ends.blockingPipe())
        let child = Child(
            "/bin/sh", ["-c", "echo; read line <&3; exit \(code)"], input: hold.reader, output: beginning.writer,
            hold: hold)
        _ = beginning.take(1)
        return child
    }
}
