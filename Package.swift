// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKit",
    products: [
        .library(name: "RunLoopKit", targets: ["RunLoopKit"])
    ],
    targets: [
        // The system calls that the C library's Swift module lacks: a header and a module map, no code.
        .systemLibrary(name: "CLinux"),
        .target(name: "RunLoopKit", dependencies: ["CLinux"]),
        .executableTarget(name: "RunLoopDemo", dependencies: ["RunLoopKit"]),
        .testTarget(name: "RunLoopKitTests", dependencies: ["RunLoopKit"]),
        // Runs the demo as a program.
        .testTarget(name: "DemoTests", dependencies: ["RunLoopDemo"]),
        // Compares with the toolchain's own CFRunLoop.
        .testTarget(name: "ConformanceTests", dependencies: ["RunLoopKit", "CLinux"]),
    ],
    swiftLanguageModes: [.v6]
)
