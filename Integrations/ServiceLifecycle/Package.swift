// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKitServiceLifecycle",
    products: [.library(name: "RunLoopKitServiceLifecycle", targets: ["RunLoopKitServiceLifecycle"])],
    dependencies: [
        .package(name: "RunLoopKit", path: "../.."),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
    ],
    targets: [
        .target(
            name: "RunLoopKitServiceLifecycle",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .executableTarget(
            name: "DrainingService",
            dependencies: [
                "RunLoopKitServiceLifecycle", .product(name: "Logging", package: "swift-log"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "RunLoopKitServiceLifecycleTests",
            dependencies: [
                "RunLoopKitServiceLifecycle", .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
