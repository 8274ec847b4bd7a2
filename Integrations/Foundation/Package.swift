// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKitFoundation",
    products: [.library(name: "RunLoopKitFoundation", targets: ["RunLoopKitFoundation"])],
    dependencies: [.package(name: "RunLoopKit", path: "../..")],
    targets: [
        .target(
            name: "RunLoopKitFoundation", dependencies: [.product(name: "RunLoopKit", package: "RunLoopKit")]),
        .executableTarget(name: "FoundationExample", dependencies: ["RunLoopKitFoundation"]),
        .executableTarget(name: "PollingServer", dependencies: ["RunLoopKitFoundation"]),
        .testTarget(
            name: "RunLoopKitFoundationTests",
            dependencies: [
                "FoundationExample", "PollingServer", "ProgramSupport", "RunLoopKitFoundation", "TestSupport",
            ]),
        // Links to the folders of the root package, whose targets only its own tests can use.
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .target(name: "ProgramSupport", dependencies: ["TestSupport"], path: "Tests/ProgramSupport"),
    ],
    swiftLanguageModes: [.v6]
)
