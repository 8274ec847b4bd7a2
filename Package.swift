// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKit",
    products: [
        .library(name: "RunLoopKit", targets: ["RunLoopKit"]),
        .library(name: "RunLoopDiagnostics", targets: ["RunLoopDiagnostics"]),
        .library(name: "RunLoopRules", targets: ["RunLoopRules"]),
    ],
    targets: [
        // The system calls that the C library's Swift module lacks: a header and a module map, no code.
        .systemLibrary(name: "CLinux"),
        .target(name: "RunLoopKit", dependencies: ["CLinux"]),
        // What watches loops. It uses what the kit has for its own targets, by `package` access, as the rules do.
        .target(name: "RunLoopDiagnostics", dependencies: ["RunLoopKit", "RunLoopRules"]),
        // Rules that limit methods from outside.
        .target(name: "RunLoopRules", dependencies: ["RunLoopKit"]),
        .executableTarget(name: "RunLoopDemo", dependencies: ["RunLoopKit", "RunLoopDiagnostics", "RunLoopRules"]),
        // Compares with the bare system calls and with what the toolchain has: CFRunLoop, Dispatch, Swift concurrency.
        .executableTarget(
            name: "RunLoopBenchmarks",
            dependencies: [
                "CAllocator", "Operations", "RunLoopKit", "RunLoopDiagnostics", "RunLoopRules", "CLinux",
            ],
            path: "Benchmarks/RunLoopBenchmarks"),
        .systemLibrary(name: "CAllocator", path: "Benchmarks/CAllocator"),
        // One operation at a time, for scripts/instruction-counts.
        .executableTarget(
            name: "InstructionCounts", dependencies: ["Operations", "RunLoopKit"], path: "Benchmarks/InstructionCounts",
            exclude: ["counts.txt"]),
        // What both measure.
        .target(
            name: "Operations", dependencies: ["RunLoopKit", "RunLoopDiagnostics", "RunLoopRules"],
            path: "Benchmarks/Operations"),
        .testTarget(
            // Some of its laws are about the public declarations of all three targets. The demo reads the recorded
            // scenarios of limiters.
            name: "RunLoopKitTests",
            dependencies: [
                "RunLoopKit", "RunLoopDiagnostics", "RunLoopRules", "RunLoopDemo", "CLinux", "LoopTestSupport",
                "TestSupport",
            ],
            exclude: ["Fixtures"]),
        .testTarget(
            name: "RunLoopDiagnosticsTests",
            dependencies: ["RunLoopKit", "RunLoopDiagnostics", "RunLoopRules", "LoopTestSupport", "TestSupport"]),
        .testTarget(
            name: "RunLoopRulesTests", dependencies: ["RunLoopKit", "RunLoopRules", "LoopTestSupport", "TestSupport"]),
        // What the library's test targets share: logs, gates, descriptors, signals, a loop in virtual time.
        .target(
            name: "LoopTestSupport", dependencies: ["RunLoopKit", "CLinux", "TestSupport"],
            path: "Tests/LoopTestSupport"),
        // What test targets share: a limit for tests that hang, random numbers, children, what an epoll set watches.
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        // The orders of the library's atomics against a model of a weak machine, which is a target of its own: no
        // dependency, not even on the library.
        .testTarget(
            name: "WeakMemoryTests", dependencies: ["TestSupport", "WeakMemory"], exclude: ["Accesses/Accesses.txt"],
            swiftSettings: [.unsafeFlags(["-O"])]),
        // Optimized in debug builds too: it visits a million states.
        .target(name: "WeakMemory", path: "Tests/WeakMemory", swiftSettings: [.unsafeFlags(["-O"])]),
        // Runs the demo as a program.
        .testTarget(name: "DemoTests", dependencies: ["ProgramSupport", "RunLoopDemo", "TestSupport"]),
        .target(name: "ProgramSupport", dependencies: ["TestSupport"], path: "Tests/ProgramSupport"),
        .testTarget(name: "BenchmarkTests", dependencies: ["Operations", "RunLoopBenchmarks", "TestSupport"]),
        // Compares with the toolchain's own CFRunLoop.
        .testTarget(name: "ConformanceTests", dependencies: ["ConformanceSupport", "RunLoopKit", "TestSupport"]),
        .target(
            name: "ConformanceSupport", dependencies: ["ReferenceLoop", "RunLoopKit", "CLinux"],
            path: "Tests/ConformanceSupport"),
        // What RunLoopKit is, in 300 lines: no dependency, not even on the library.
        .target(name: "ReferenceLoop", path: "Tests/ReferenceLoop"),
        // Main threads of their own, run by MainThreadTests.
        .testTarget(
            name: "MainThreadTests",
            dependencies: [
                "ProgramSupport", "MainQueueProgram", "MainLoopProgram", "PlainProgram", "AsyncMainProgram",
                "DescriptorProgram", "ForkProgram", "HostProgram", "TimeBaseProgram", "ThreadProgram", "MemoryProgram",
                "MistakeProgram",
                "ClosedDescriptorProgram", "RefusalProgram", "FaultProgram", "ScheduleProgram",
                "EnduranceProgram", "TopLevelProgram", "SyncMainProgram", "RunMainProgram", "StressProgram",
                "RunLoopKit",
                "SignalProgram", "TestSupport",
            ]),
        .executableTarget(
            name: "MainQueueProgram", dependencies: ["ConformanceSupport", "RunLoopKit"],
            path: "Tests/Programs/MainQueueProgram"),
        .executableTarget(
            name: "MainLoopProgram", dependencies: ["RunLoopKit", "TestSupport"],
            path: "Tests/Programs/MainLoopProgram"),
        .executableTarget(
            name: "DescriptorProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/DescriptorProgram"),
        .executableTarget(
            name: "ForkProgram", dependencies: ["RunLoopKit", "RunLoopDiagnostics"], path: "Tests/Programs/ForkProgram"),
        .executableTarget(
            name: "TimeBaseProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/TimeBaseProgram"),
        .executableTarget(
            name: "HostProgram", dependencies: ["RunLoopKit", "CLinux"], path: "Tests/Programs/HostProgram"),
        .executableTarget(
            name: "ThreadProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/ThreadProgram"),
        .executableTarget(
            name: "MemoryProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/MemoryProgram"),
        .executableTarget(
            name: "MistakeProgram", dependencies: ["RunLoopKit", "RunLoopDiagnostics", "RunLoopRules"],
            path: "Tests/Programs/MistakeProgram"),
        .executableTarget(
            name: "ClosedDescriptorProgram", dependencies: ["RunLoopKit"],
            path: "Tests/Programs/ClosedDescriptorProgram"),
        .executableTarget(
            name: "RefusalProgram", dependencies: ["RunLoopKit", "RunLoopDiagnostics"],
            path: "Tests/Programs/RefusalProgram"),
        // Each system call fails, with each of its errors.
        .executableTarget(
            name: "FaultProgram", dependencies: ["RunLoopKit", "RunLoopDiagnostics"],
            path: "Tests/Programs/FaultProgram"),
        // Threads in every order.
        .executableTarget(
            name: "ScheduleProgram",
            dependencies: ["RunLoopKit", "RunLoopDiagnostics", "CLinux", "ScheduleSeam", "TestSupport"],
            path: "Tests/Programs/ScheduleProgram"),
        // The mutexes of Swift's runtime, for that program.
        .target(name: "ScheduleSeam", path: "Tests/Programs/ScheduleSeam"),
        .executableTarget(
            name: "SignalProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/SignalProgram"),
        .executableTarget(
            name: "StressProgram", dependencies: ["RunLoopKit", "CLinux", "TestSupport"],
            path: "Tests/Programs/StressProgram"),
        // What grows in long runs.
        .executableTarget(
            name: "EnduranceProgram", dependencies: ["CAllocator", "RunLoopKit"],
            path: "Tests/Programs/EnduranceProgram"),
        .executableTarget(name: "PlainProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/PlainProgram"),
        .executableTarget(
            name: "AsyncMainProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/AsyncMainProgram"),
        .executableTarget(
            name: "TopLevelProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/TopLevelProgram"),
        .executableTarget(
            name: "RunMainProgram", dependencies: ["RunLoopKit", "RunLoopDiagnostics", "CLinux"],
            path: "Tests/Programs/RunMainProgram"),
        .executableTarget(
            name: "SyncMainProgram", dependencies: ["RunLoopKit"], path: "Tests/Programs/SyncMainProgram"),
    ],
    swiftLanguageModes: [.v6]
)
