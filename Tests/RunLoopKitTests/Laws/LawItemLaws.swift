import LoopTestSupport

@testable import RunLoopKit

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The laws of a single item.
extension LawItem {
    /// Whether everything that was sent to it has been handled, for an item that reports.
    var isQuiet: Bool {
        guard isValid, hasHandler, let item else { return true }
        switch item {
        case let source as Loop.Source0: return !source.isSignalled
        case let port as Loop.MessagePort<Message>: return port.waitingCount == 0 && accepted == handled + withdrawn
        case let timer as Loop.Timer:
            guard let loop = player.loops.first(where: { places.first?.loop == $0.number })?.loop else { return true }
            return timer.nextFireTime.map { $0 + tolerance > loop.now(timer.timeBase) } ?? true
        case is Loop.Observer: return true
        default: return handled == accepted
        }
    }

    /// Whether a pass would call it at once if something came.
    var canBeServed: Bool {
        guard isArmed, callsInProgress == 0 else { return false }
        return (item as? Loop.FileDescriptorSource)?.interest.contains(.read) ?? true
    }

    /// Whether it wakes a loop that it joins.
    var hasWakingSignal: Bool { wakes && hasHandler && (item as? Loop.Source0)?.isSignalled ?? false }

    func checkItself() {
        if kind == .source0 || kind.isProcess {
            player.expect(handled <= accepted, "\(self): \(handled) calls for \(accepted) signals")
        }
        guard player.isSettled(self) else { return }
        if kind == .source0, plan.isNotified {
            let expected = Dictionary(uniqueKeysWithValues: places.map { ($0, 1) })
            let found = notified.filter { $0.value != 0 }
            player.expect(found == expected, "\(self): schedule less cancel notifications: \(found), not \(expected)")
        }
        if isValid, item != nil {
            let areAlive = closuresAlive == closures || closuresAlive > closures && callsInProgress > 0
            player.expect(areAlive, "\(self): \(closuresAlive) handlers while it is valid, not \(closures)")
        } else if callsInProgress == 0, !isValid || player.isOutside {
            player.expect(closuresAlive == 0, "\(self): \(closuresAlive) handlers not released")
        }
        guard let item else { return }
        (item as? Loop.PortSource)?.notes.read { notes in
            player.expect(notes.count <= places.count, "\(self): has \(notes.count) notes of \(places.count) modes")
        }
        player.expect(item.isValid == isValid, "\(self): valid: \(item.isValid)")
        checkTolerance()
        let armed =
            (item as? Loop.FileDescriptorSource)?.isArmed ?? (item as? Loop.MessagePort<Message>)?.isArmed
            ?? (item as? Loop.Connection)?.isReceiving
        player.expect(armed == nil || armed == isArmed, "\(self): armed: \(armed ?? false)")
        // It closes its descriptor before its handlers have returned.
        if kind == .connection { player.expect(isHungUp == !isValid, "\(self): closed: \(isHungUp)") }
        // Whether the other end sees a hang-up.
        if kind == .ownedDescriptor {
            player.expect(isHungUp == (!isValid && callsInProgress == 0), "\(self): closed: \(isHungUp)")
        }
    }

    /// An invalid signal source listens no more: a signal that another listener hears does not reach its pipe.
    func checkThatItIsSilent() {
        guard !isValid, let source = item as? Loop.SignalSource else { return }
        let listener = try! SignalListener([signal])
        listener.begin()
        defer { listener.stop() }
        // What came before the end, and waits.
        var bytes = [UInt8](repeating: 0, count: 4096)
        while read(source.watches[0].descriptor, &bytes, bytes.count) > 0 {}
        pthread_kill(pthread_self(), signal)
        player.expect(listener.takeArrivals().count == 1, "\(self): its signal does not arrive elsewhere")
        let readiness = System.readiness(of: source.watches[0].descriptor, for: .read)
        player.expect(!readiness.contains(.read), "\(self): is invalid and still listens")
    }

    /// A closure of the item has been released.
    func closureIsReleased(isReplaced: Bool) {
        closuresAlive -= 1
        player.expect(closuresAlive >= 0, "\(self): released twice")
        guard !isReplaced, kind == .source0, operationsInProgress < 2 else { return }
        let due = notified.filter { $0.value != 0 }
        player.expect(due.isEmpty, "\(self): released before its last notification: \(due)")
    }

    /// The handlers of an invalid item are released after it has left its last mode.
    func checkThatItHasLeft() {
        guard let item else { return }
        let modes = item.currentModes
        player.expect(!item.isValid && modes.first == nil, "\(self): releases its handler, and is in \(modes)")
    }

    private var isHungUp: Bool {
        var request = pollfd(fd: ends!.writer, events: 0, revents: 0)
        return poll(&request, 1, 0) == 1
    }

    /// At the end, after its deallocation.
    func checkDescriptorsAreClosed() {
        guard let ends, kind.isDescriptor || kind == .connection else { return }
        if kind == .borrowedDescriptor { ends.closeReader() }
        player.expect(isHungUp, "\(self): its descriptor, or a duplicate, is still open")
    }
}
