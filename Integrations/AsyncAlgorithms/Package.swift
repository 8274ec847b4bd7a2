// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKitAsyncAlgorithms",
    dependencies: [
        .package(name: "RunLoopKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.1.4"),
    ],
    targets: [
        .executableTarget(
            name: "Sequences",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ]),
        .testTarget(
            name: "AsyncAlgorithmsTests",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
