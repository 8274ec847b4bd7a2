import RunLoopKit
import Synchronization

/// A handler that stalls its loop until it is released.
protocol StallScene: Sendable {
    var name: String { get }
    var title: String { get }

    /// What happens, for people.
    var beginning: String { get }

    /// How to read the reports, and what to do.
    var lesson: String { get }

    /// The threads whose loops stall.
    var threads: [LoopThread] { get }

    /// Makes the loops stall, on their threads.
    func begin()

    /// Ends the stall. From any thread, also before it has begun, and several times.
    func release()
}

/// A handler waits for an answer that does not come.
struct BlockingScene: StallScene {
    let name = "blocks"
    let title = "1. A handler that blocks"
    let beginning = """
        The thread 'editor' runs a loop. One of its handlers saves a letter and waits for the disk, which does not \
        answer. Three keys are pressed meanwhile; the blocks that handle them wait in the same loop.
        """
    let lesson = """
        The innermost functions belong to the C library: the thread is blocked. Below them are the program's own \
        functions, Disk.waitForAnswer and Letter.save here, which show what it waits for. Such a wait belongs on \
        another thread, which posts the answer.
        """
    let threads: [LoopThread]
    private let disk = Disk()

    init() throws { threads = [try LoopThread(name: "editor")] }

    func begin() {
        threads[0].perform { [disk, loop = threads[0].loop] in
            // All four are posted before the first one runs.
            loop.perform(label: "save the letter") { Letter(disk: disk).save() }
            for _ in 1...3 { loop.perform(label: "key press") {} }
        }
    }

    func release() { disk.answer.open() }
}

private final class Disk: Sendable {
    let answer = Latch()

    @inline(never)
    func waitForAnswer() { answer.wait() }
}

private struct Letter {
    let disk: Disk

    @inline(never)
    func save() { disk.waitForAnswer() }
}

/// A handler computes for too long.
struct ComputingScene: StallScene {
    let name = "computes"
    let title = "2. A handler that computes"
    let beginning = """
        The thread 'chess' computes a move in the handler of a timer. Meanwhile its loop calls no other handler: a \
        port that receives a send has to wait.
        """
    let lesson = """
        The innermost function is the program's own: the thread computes. Such work belongs on another thread, or in \
        portions, each in a block that posts the next one. The metrics do not distinguish it from a handler that \
        blocks; the functions do.
        """
    let threads: [LoopThread]
    private let game = Game()
    private let port: Loop.PortSource

    init() throws {
        threads = [try LoopThread(name: "chess")]
        port = try Loop.PortSource { _ in }
        port.label = "clock"
        threads[0].loop.add(port, in: .default)
    }

    func begin() {
        let timer = Loop.Timer(after: .zero) { [game, port] _ in
            port.send()
            game.findBestMove()
        }
        timer.label = "think"
        threads[0].loop.add(timer, in: .default)
    }

    func release() { game.isOver.store(true, ordering: .relaxed) }
}

private final class Game: Sendable {
    let isOver = Atomic<Bool>(false)

    @inline(never)
    func findBestMove() {
        var position: UInt64 = 1
        while !isOver.load(ordering: .relaxed) { position = rate(position) }
    }

    /// In place of a real engine.
    @inline(never)
    private func rate(_ position: UInt64) -> UInt64 {
        var (position, depth) = (position, 0)
        while depth < 10_000 {
            position = position &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            depth += 1
        }
        return position
    }
}

/// Two threads wait for each other.
struct DeadlockScene: StallScene {
    let name = "deadlock"
    let title = "3. Two threads that wait for each other"
    let beginning = """
        The threads 'left' and 'right' send each other a question, each from a handler that waits for the answer. \
        Each thread could answer only from its loop, which its own handler blocks. Neither handler would ever return; \
        the program ends both waits after the reports.
        """
    let lesson = """
        Each loop is stalled by a wait for the other one, and a block waits behind each handler: the question. One of \
        the two must not wait: it should post the question together with a block that receives the answer.
        """
    let threads: [LoopThread]
    private let left = Partner()
    private let right = Partner()

    init() throws { threads = [try LoopThread(name: "left"), try LoopThread(name: "right")] }

    func begin() {
        let (left, right) = (left, right)
        let loops = threads.map(\.loop)
        loops[0].perform(label: "ask right") { left.ask(right, on: loops[1]) }
        loops[1].perform(label: "ask left") { right.ask(left, on: loops[0]) }
    }

    func release() { for partner in [left, right] { partner.release() } }
}

private final class Partner: Sendable {
    private let isInHandler = Latch()
    private let answer = Latch()

    /// Hands a question to the other's loop, and waits for the answer, as `LoopThread.performAndWait` would.
    @inline(never)
    func ask(_ other: Partner, on loop: Loop) {
        isInHandler.open()
        // Otherwise the other one could answer before it asks.
        other.isInHandler.wait()
        loop.perform(label: "answer") { [answer] in answer.open() }
        waitForAnswer()
    }

    @inline(never)
    private func waitForAnswer() { answer.wait() }

    func release() {
        isInHandler.open()
        answer.open()
    }
}
