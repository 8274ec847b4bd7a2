// Random programs on the main loop, and the laws of the main queue: MainLoopProgram [SEED [COUNT]].
import Foundation

let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
exit(RandomPlayer.playAll(from: numbers.first ?? 1, count: numbers.dropFirst().first ?? 200))
