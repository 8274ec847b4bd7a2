// Every kind of item, on several threads and loops that start and end, for a time: StressProgram [seconds [seed]].
//
// Any operation on any item at any time, also inside callouts: adding, removing, moving, re-timing, releasing,
// invalidating, sending, running nested, stopping, ending. After each round the laws in World.swift hold, and those in
// Conversations.swift, Handovers.swift and MainQueueTalk.swift.
import RunLoopKit
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

let arguments = CommandLine.arguments.dropFirst()
guard let seconds = Double(arguments.first ?? "5"), let firstSeed = UInt64(arguments.dropFirst().first ?? "1") else {
    say("usage: StressProgram [seconds [seed]]")
    exit(64)
}

// A signal may come right after the last source for it has ended.
for number in 0..<28 { signal(World.firstSignal + Int32(number), SIG_IGN) }
signal(SIGPIPE, SIG_IGN)
StallWatchdog.start()
StallWatchdog.watch(Loop.main, "the main loop")
StallWatchdog.nameTheRoundWhenTrapped()

/// A round: threads of their own do random operations, and then everything is invalidated.
@MainActor func play(_ seed: UInt64) {
    currentSeed.store(seed, ordering: .relaxed)
    step("talks to the main queue")
    MainQueueTalk(count: 500).play()
    step("hands letters over")
    Handovers(seed).play()
    let world = World(seed: seed)
    let conversations = Conversations()
    let actors = (0..<3).map { _ in try! LoopThread(name: "actor") }
    for (index, actor) in actors.enumerated() {
        StallWatchdog.watch(actor.loop, "an actor")
        actor.perform {
            var random = SplitMix(seed &* 1000 &+ UInt64(index))
            for step in 0..<400 {
                world.act(&random)
                if step % 50 == 0 { conversations.speak(&random) }
            }
        }
    }
    step("acts")
    for actor in actors { try! actor.performAndWait {} }
    conversations.finish()
    world.goQuiet()
    world.handleAll()
    world.invalidateAll(on: actors)
    world.checkThatLoopsAreIdle()
    world.end()
    for actor in actors {
        actor.stop()
        actor.join()
    }
}

play(firstSeed)  // Creates what the process creates only once.
let (descriptors, threads) = (openDescriptors().keys, threadCount())
let end = Loop.Instant.now.advanced(by: .seconds(seconds))
var seed = firstSeed
while Loop.Instant.now < end {
    seed += 1
    play(seed)
    // A thread of the library reaps an invalid child, and closes its pidfd.
    wait(for: "children to be reaped") { !openDescriptors().values.contains { $0.contains("pidfd") } }
    let after = openDescriptors()
    expect(after.keys == descriptors, "descriptors are left behind: \(after), before \(descriptors)")
    let others = StallWatchdog.loopsAlive - 1
    expect(others == 0, "\(others) loops are not deallocated")
    // The kernel removes a thread from its list a moment after it has been joined.
    wait(for: "threads to end") { threadCount() <= threads }
}
print("\(seed - firstSeed + 1) rounds, \(heartbeat.load(ordering: .relaxed)) operations and callouts")
