// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "ActorThread",
    dependencies: [.package(name: "RunLoopKit", path: "../..")],
    targets: [
        .executableTarget(
            name: "ActorThread", dependencies: [.product(name: "RunLoopKit", package: "RunLoopKit")])
    ],
    swiftLanguageModes: [.v6]
)
