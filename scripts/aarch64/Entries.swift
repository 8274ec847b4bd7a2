// What C calls: each protocol, under a name that a disassembly shows.

final class Protocols: Sendable {
    let lock = Lock(.leaf)
    let readers = Readers()
    let list = SharedList<Int>()
    let waker = Waker()
    let note: EdgeNote

    init() { note = EdgeNote(waker) }
}

nonisolated(unsafe) private var protocols: Protocols?
nonisolated(unsafe) private var waiter: Waiter?

@_cdecl("protocols_begin") public func begin() { protocols = Protocols() }
@_cdecl("protocols_end") public func end() { protocols = nil }

@_cdecl("lock_lock") public func lockLock() { protocols!.lock.lock() }
@_cdecl("lock_unlock") public func lockUnlock() { protocols!.lock.unlock() }

@_cdecl("readers_enter") public func readersEnter() { protocols!.readers.enter() }
@_cdecl("readers_leave") public func readersLeave() { protocols!.readers.leave() }
@_cdecl("readers_wait") public func readersWait() { protocols!.readers.waitUntilNone() }

@_cdecl("list_sum") public func listSum() -> Int {
    var sum = 0
    protocols!.list.read { elements in
        for element in elements { sum += element }
    }
    return sum
}
@_cdecl("list_change") public func listChange(_ value: Int) {
    protocols!.list.change { elements in elements = [value, -value] }
}

@_cdecl("waker_open") public func wakerOpen() -> Bool {
    do {
        try protocols!.waker.open()
        return true
    } catch {
        return false
    }
}
@_cdecl("waker_descriptor") public func wakerDescriptor() -> Int32 { protocols!.waker.descriptor }
@_cdecl("waker_wake") public func wakerWake() { protocols!.waker.wake() }
@_cdecl("waker_nudge") public func wakerNudge() { protocols!.waker.nudge() }
@_cdecl("waker_begin_wait") public func wakerBeginWait() -> Bool { protocols!.waker.beginWait() }
@_cdecl("waker_end_wait") public func wakerEndWait() -> Bool { protocols!.waker.endWait() }
@_cdecl("waker_is_asleep") public func wakerIsAsleep() -> Bool { protocols!.waker.isAsleep }
@_cdecl("waker_close") public func wakerClose() { protocols!.waker.close() }

@_cdecl("note_set") public func noteSet() { protocols!.note.set() }
@_cdecl("note_take") public func noteTake() -> Bool { protocols!.note.take() }

@_cdecl("waiter_begin") public func waiterBegin() { waiter = Waiter() }
@_cdecl("waiter_fulfil") public func waiterFulfil() { waiter!.fulfil(nil) }
@_cdecl("waiter_wait") public func waiterWait() {
    do { try waiter!.wait() } catch {}
}
