// swift-tools-version: 6.2

// A package of its own, so that users of RunLoopKitGLib need no GTK. On Debian: apt install libgtk-4-dev
import PackageDescription

let package = Package(
    name: "GTKSearch",
    dependencies: [
        .package(name: "RunLoopKit", path: "../../.."), .package(name: "RunLoopKitGLib", path: ".."),
    ],
    targets: [
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .executableTarget(
            name: "GTKSearch",
            dependencies: [
                "CGTK", .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "RunLoopKitGLib", package: "RunLoopKitGLib"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
