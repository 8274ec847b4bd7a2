// swift-tools-version: 6.2

import PackageDescription

/// A program of its own folder in Sources, which uses the library.
func program(_ name: String) -> Target {
    .executableTarget(name: name, dependencies: [.product(name: "RunLoopKit", package: "RunLoopKit")])
}

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "RunLoopKit", path: "..")],
    targets: [
        program("ActorThread"),
    ],
    swiftLanguageModes: [.v6]
)
