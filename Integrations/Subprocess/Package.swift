// swift-tools-version: 6.2

// A package of its own, so that RunLoopKit depends on no other.
import PackageDescription

let package = Package(
    name: "Supervision",
    dependencies: [
        .package(name: "RunLoopKit", path: "../.."),
        // Without the trait that needs Foundation.
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2", traits: []),
    ],
    targets: [
        .target(
            name: "Supervision",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]),
        .executableTarget(name: "Supervise", dependencies: ["Supervision"]),
        .testTarget(
            name: "SupervisionTests",
            dependencies: [
                "ProgramSupport", "Supervise", "Supervision", "TestSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]),
        // Links to the folders of the root package, whose targets only its own tests can use.
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .target(name: "ProgramSupport", dependencies: ["TestSupport"], path: "Tests/ProgramSupport"),
    ],
    swiftLanguageModes: [.v6]
)
