import LoopTestSupport

@testable import RunLoopKit

/// The handlers of items, which they have from the beginning or get later.
extension LawItem {
    private func makeHandlerClosure() -> Closure {
        let closure = Closure(self)
        handlerClosure = closure
        return closure
    }

    func sourceHandler() -> @Sendable () -> Void {
        let closure = makeHandlerClosure()
        return { closure.item.call { $0.handled += 1 } }
    }

    func portHandler() -> @Sendable (Int) -> Void {
        let closure = makeHandlerClosure()
        return { count in closure.item.call { $0.handled += count } }
    }

    func messageHandler() -> @Sendable (Message) -> Void {
        let closure = makeHandlerClosure()
        return { message in
            closure.item.call {
                $0.player.expect(message.number == $0.handled + $0.withdrawn, "\($0): not the next message")
                $0.handled += 1
            }
        }
    }

    func signalHandler() -> Loop.SignalSource.Handler {
        let closure = makeHandlerClosure()
        return { _, arrivals in closure.item.call { $0.handled += arrivals.count } }
    }

    func processHandler() -> Loop.ProcessSource.Handler {
        let closure = makeHandlerClosure()
        return { _, exit in
            let item = closure.item
            item.player.expect(exit == .exited(7), "\(item): \(exit)")
            item.handled += 1
            // It is invalid before its handler is called.
            item.becomeInvalid()
            item.call(isValid: false) { _ in }
        }
    }

    func childProcessHandler() -> Loop.ChildProcess.Handler {
        let closure = makeHandlerClosure()
        return { _, exit in
            let item = closure.item
            let isRight = exit == .exited(7) || item.bit(8) && exit != .unknown
            item.player.expect(isRight, "\(item): \(exit)")
            item.handled += 1
            item.becomeInvalid()
            item.call(isValid: false) { _ in }
        }
    }

    func folderHandler() -> Loop.FolderSource.Handler {
        let closure = makeHandlerClosure()
        return { _, events in
            closure.item.call { item in
                let areFiles = events.allSatisfy { if case .created(let entry) = $0 { !entry.isFolder } else { false } }
                item.player.expect(areFiles, "\(item): \(events)")
                item.handled += events.count
            }
        }
    }

    func connectionHandler() -> Loop.Connection.Handler {
        let closure = makeHandlerClosure()
        return { _, event in
            closure.item.call { item in
                if case .received(let bytes) = event {
                    let expected = (0..<bytes.count).map { UInt8(truncatingIfNeeded: item.handled + $0) }
                    item.player.expect(bytes == expected, "\(item): bytes are lost, doubled or out of order")
                    item.handled += bytes.count
                } else {
                    item.player.expect(false, "\(item): \(event), although its peer sends and receives")
                }
            }
        }
    }

    func timerHandler() -> @Sendable (Loop.Timer.Firing) -> Void {
        let closure = makeHandlerClosure()
        return { firing in
            let item = closure.item
            let now = item.player.innermost?.loop?.now(firing.timer.timeBase)
            item.player.expect(now.map { firing.scheduledTime <= $0 } ?? false, "\(item): fires early")
            item.checkTheTime(of: firing)
            item.call { $0.handled += 1 }
            item.becomeDue(after: firing)
            // The library invalidates a timer that fires once when its handler has returned.
            if !item.repeats { item.becomeInvalid() }
        }
    }

    func observerHandler() -> @Sendable (Loop.Observer, Loop.Activity) -> Void {
        let closure = makeHandlerClosure()
        return { _, _ in
            let item = closure.item
            item.checkItsOrder()
            item.call { $0.handled += 1 }
            if !item.repeats { item.becomeInvalid() }
        }
    }

    func descriptorHandler() -> Loop.FileDescriptorSource.Handler {
        let closure = makeHandlerClosure()
        return { source, ready in
            closure.item.call { item in
                if item.readsFirst { item.readAll() }
                // It is always writable: otherwise it would keep the loop busy.
                if ready.contains(.writable), item.player.isGoingQuiet || item.calls > 4 { source.interest = .read }
            }
            closure.item.readAll()
        }
    }

    /// Sets the first handler, or replaces it.
    func setHandler() {
        guard let item else { return }
        let expected = isValid
        handlerClosure?.isReplaced = true
        // The old one counts no more. A call that runs may have a reference to it.
        if hasHandler { closures -= 1 }
        hasHandler = true
        let answer =
            switch item {
            case let source as Loop.Source0: source.setHandler(sourceHandler())
            case let port as Loop.PortSource: port.setHandler(portHandler())
            case let port as Loop.MessagePort<Message>: port.setHandler(messageHandler())
            case let source as Loop.FileDescriptorSource: source.setHandler(descriptorHandler())
            case let source as Loop.SignalSource: source.setHandler(signalHandler())
            case let source as Loop.ProcessSource: source.setHandler(processHandler())
            case let child as Loop.ChildProcess: child.setHandler(childProcessHandler())
            case let source as Loop.FolderSource: source.setHandler(folderHandler())
            case let connection as Loop.Connection: connection.setHandler(connectionHandler())
            case let timer as Loop.Timer: timer.setHandler(timerHandler())
            default: (item as! Loop.Observer).setHandler(observerHandler())
            }
        player.expect(answer == expected, "\(self): takes a handler: \(answer)")
    }

    /// An object that a handler captures: its deinit shows the release, which must come without a lock, since the
    /// deinit of a program's object may do anything.
    final class Closure: @unchecked Sendable {
        unowned let item: LawItem
        /// Whether the item has got another one in its place, or was invalid when it got this one.
        var isReplaced: Bool

        init(_ item: LawItem) {
            self.item = item
            isReplaced = !item.isValid
            item.closures += 1
            item.closuresAlive += 1
        }

        deinit {
            Lock.assertNoneHeld()
            item.closureIsReleased(isReplaced: isReplaced)
            item.playRelease(isReplaced: isReplaced)
        }
    }
}
