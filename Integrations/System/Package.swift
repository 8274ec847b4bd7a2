// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKitSystem",
    products: [.library(name: "RunLoopKitSystem", targets: ["RunLoopKitSystem"])],
    dependencies: [
        .package(name: "RunLoopKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-system.git", from: "1.8.1"),
    ],
    targets: [
        .target(
            name: "RunLoopKitSystem",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .executableTarget(name: "PipeReader", dependencies: ["RunLoopKitSystem"]),
        .testTarget(name: "RunLoopKitSystemTests", dependencies: ["RunLoopKitSystem"]),
    ],
    swiftLanguageModes: [.v6]
)
