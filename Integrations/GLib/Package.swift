// swift-tools-version: 6.2

// A package of its own, so that users of RunLoopKit need no GLib. On Debian: apt install libglib2.0-dev
import PackageDescription

let package = Package(
    name: "RunLoopKitGLib",
    products: [.library(name: "RunLoopKitGLib", targets: ["RunLoopKitGLib"])],
    dependencies: [.package(name: "RunLoopKit", path: "../..")],
    targets: [
        .systemLibrary(name: "CRunLoopKitGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(
            name: "RunLoopKitGLib",
            dependencies: ["CRunLoopKitGLib", .product(name: "RunLoopKit", package: "RunLoopKit")]),
        .executableTarget(name: "GLibExample", dependencies: ["CRunLoopKitGLib", "RunLoopKitGLib"]),
        .testTarget(
            name: "RunLoopKitGLibTests",
            dependencies: ["CRunLoopKitGLib", "GLibExample", "ProgramSupport", "RunLoopKitGLib", "TestSupport"]),
        // Links to the folders of the root package, whose targets only its own tests can use.
        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .target(name: "ProgramSupport", dependencies: ["TestSupport"], path: "Tests/ProgramSupport"),
    ],
    swiftLanguageModes: [.v6]
)
