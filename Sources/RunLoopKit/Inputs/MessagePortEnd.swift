// The end of a port, which its last sender announces: the port handles it as one more message.

extension Loop.MessagePort {
    /// Says that no more messages come. The loop handles those that were sent before, and then the port becomes
    /// invalid: it leaves its modes, and keeps no run going. From any thread, at any time.
    ///
    /// ```swift
    /// let port = Loop.MessagePort<String> { line in print(line) }
    /// port.setEndHandler { print("that was all") }
    /// worker.loop.add(port, in: .common)
    /// port.send("hello")
    /// port.finish()
    /// ```
    ///
    /// - *Sends* after it are refused, as those to an invalid port. Calls of ``Loop/MessagePort/send(whenRoom:)``
    ///   that wait for room were made before it: their messages come, too.
    /// - *The end* is handled as one more message would be, behind the last: by a loop with the port in its mode,
    ///   while the port is armed and has a handler. Then ``Loop/MessagePort/setEndHandler(_:)``'s handler is called.
    /// - *Several senders* finish a port together: the last of them calls this.
    /// - *A sequence of messages* (``Loop/MessagePort/makeMessages(on:in:capacity:)``) ends after the last one.
    /// - *If the loop ends before,* the messages and the end wait in the port for another loop.
    ///
    /// ``Loop/Item/invalidate()`` ends the port at once instead, and drops what waits. Swift:
    /// `AsyncStream.Continuation.finish`; Go: `close`; Kotlin: a channel's `close`. (A channel of
    /// swift-async-algorithms drops what its senders wait with.)
    ///
    /// - Returns: Whether this call has finished the port. False if it was finished before, or is invalid.
    @discardableResult
    public func finish() -> Bool {
        itemLock.lock()
        guard isValid, !isFinished else {
            itemLock.unlock()
            return false
        }
        isFinished = true
        // Otherwise the end follows the last message.
        guard queue.isEmpty, isReadyWhileLocked else {
            itemLock.unlock()
            return true
        }
        if let wakeTask, isServedWhileLocked {
            armed = false
            itemLock.unlock()
            wakeTask()
        } else {
            announce(in: becomeReady(), unlocking: itemLock.held)
        }
        return true
    }

    /// Sets what the loop calls when all messages have been handled after ``Loop/MessagePort/finish()``. From any
    /// thread, before that; a second call replaces the handler.
    ///
    /// - Parameter handler: Called once, on the loop's thread. The port is invalid then, and has released its other
    ///   handler. It is not called, but released, if the port is invalidated instead.
    /// - Returns: Whether the port has it. False if the port is invalid.
    @discardableResult
    public func setEndHandler(_ handler: @escaping @Sendable () -> Void) -> Bool {
        var new: (@Sendable () -> Void)? = handler
        let isSet = itemLock.withLock {
            if isValid { swap(&endHandler, &new) }
            return isValid
        }
        // The old one is released without the lock.
        withExtendedLifetime(new) {}
        return isSet
    }

    /// Ends the port if the end is what comes next. Returns whether it did, and what to call.
    ///
    /// - Parameter mode: The mode that serves the port; nil for the task that takes the messages, which calls no
    ///   handler.
    func takeEnd(in mode: ModeState?) -> (isTaken: Bool, handler: (@Sendable () -> Void)?) {
        var handler: (@Sendable () -> Void)?
        let isTaken = invalidate {
            guard isFinished, queue.isEmpty, mode.map({ armed && isInWhileLocked($0) }) ?? (endHandler == nil) else {
                return false
            }
            handler = endHandler.take()
            return true
        }
        return (isTaken, handler)
    }

    /// Serves the end in a pass. Returns how much was handled: 1 or 0.
    func performEnd(in mode: ModeState) -> Int {
        guard itemLock.withLock({ isFinished && isReadyWhileLocked }) else { return 0 }
        let (isTaken, handler) = takeEnd(in: mode)
        handler?()
        return isTaken ? 1 : 0
    }
}
