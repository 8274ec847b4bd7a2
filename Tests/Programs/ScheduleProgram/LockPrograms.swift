#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    /// A lock, its condition and its words, without a loop.
    let lockPrograms: [Program] = [
        Program("lock, two threads", bound: 4) { play in
            let count = Guarded()
            for _ in 0..<2 { play.thread { for _ in 0..<2 { count.add() } } }
            play.finally { play.require(count.value == 4, "A lock let two threads in: \(count.value) of 4.") }
        },
        Program("lock, three threads", bound: 3) { play in
            let count = Guarded()
            for _ in 0..<3 { play.thread { count.add() } }
            play.finally { play.require(count.value == 3, "A lock let two threads in: \(count.value) of 3.") }
        },
        Program("lock with a time limit", bound: 3) { play in
            let count = Guarded()
            play.thread { count.add() }
            play.thread { count.add() }
            play.thread { count.addUntil(System.monotonicNanoseconds() + 1_000_000) }
            play.finally { play.require(count.value == 3, "A lock let two threads in: \(count.value) of 3.") }
        },
        Program("condition", bound: 3) { play in
            let box = WaitBox()
            for _ in 0..<2 { play.thread { box.take() } }
            play.thread { for _ in 0..<2 { box.put() } }
            play.finally { play.require(box.items == 0, "\(box.items) items are left.") }
        },
        Program("a reader and a change", bound: 3) { play in
            let list = SharedListBox()
            play.thread {
                list.add()
                list.touch()
                list.removeAll()
            }
            play.thread { play.require(list.keepsElement(), "A reader uses what is released.") }
            // What readers have kept goes with the list's next change.
            play.finally {
                list.add()
                list.removeAll()
                play.require(list.isEmpty, "The list is not empty.")
            }
        },
    ]

    /// A number that is read and written in two steps, with a point between them.
    private final class Guarded: @unchecked Sendable {
        private let lock = Lock(.leaf)
        private let between = Atomic<Int>(0)
        private(set) var value = 0

        private func addWhileLocked() {
            let seen = value
            between.store(seen, ordering: .relaxed)
            value = seen + 1
        }

        func add() { lock.withLock { addWhileLocked() } }

        func addUntil(_ deadline: Int64) { if lock.withLock(until: deadline, { addWhileLocked() }) == nil { add() } }
    }

    private final class WaitBox: @unchecked Sendable {
        private let lock = Lock(.leaf)
        private let changed = Condition()
        private(set) var items = 0

        func put() {
            lock.withLock { items += 1 }
            changed.broadcast()
        }

        func take() {
            lock.withLock {
                while items == 0 { changed.wait(with: lock) }
                items -= 1
            }
        }
    }

    private final class SharedListBox: @unchecked Sendable {
        private let lock = Lock(.leaf)
        private let list = SharedList<Element>()
        private let between = Atomic<Bool>(false)
        private let alive = Shared<Set<ObjectIdentifier>>([])

        private final class Element: Sendable {
            let alive: Shared<Set<ObjectIdentifier>>

            init(_ alive: Shared<Set<ObjectIdentifier>>) {
                self.alive = alive
                alive.value.insert(ObjectIdentifier(self))
            }

            deinit { alive.value.remove(ObjectIdentifier(self)) }
        }

        var isEmpty: Bool { list.isEmpty && alive.value.isEmpty }

        /// Whether an element is alive for as long as it is read. It is not touched, nor retained.
        func keepsElement() -> Bool {
            var isAlive = true
            list.read { elements in
                guard !elements.isEmpty else { return }
                let first = ObjectIdentifier(elements[0])
                between.store(true, ordering: .relaxed)
                isAlive = alive.value.contains(first)
            }
            return isAlive
        }

        /// Or no other thread would have business at the point in the middle of a reader.
        func touch() { between.store(false, ordering: .relaxed) }

        func add() { lock.withLock { list.change { $0.append(Element(alive)) } } }
        func removeAll() { lock.withLock { list.change { $0.removeAll() } } }
    }
#endif
