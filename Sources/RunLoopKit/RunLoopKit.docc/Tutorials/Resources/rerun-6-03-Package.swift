// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "rerun",
    dependencies: [.package(path: "../RunLoopKit")],
    targets: [
        .executableTarget(
            name: "rerun",
            dependencies: [.product(name: "RunLoopKit", package: "RunLoopKit")]),
        .testTarget(name: "rerunTests", dependencies: ["rerun"]),
    ]
)
