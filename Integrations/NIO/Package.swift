// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "RunLoopKitNIO",
    products: [.library(name: "RunLoopKitNIO", targets: ["RunLoopKitNIO"])],
    dependencies: [
        .package(name: "RunLoopKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    ],
    targets: [
        .target(
            name: "RunLoopKitNIO",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"), .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "ActorServer", dependencies: ["RunLoopKitNIO", .product(name: "NIOPosix", package: "swift-nio")]),
        .testTarget(
            name: "RunLoopKitNIOTests",
            dependencies: [
                "ActorServer", "RunLoopKitNIO", .product(name: "RunLoopDiagnostics", package: "RunLoopKit"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
