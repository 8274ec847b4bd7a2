// swift-tools-version: 6.2

// A package of its own, so that users of RunLoopKit need no GLib. On Debian: apt install libglib2.0-dev
import PackageDescription

let package = Package(
    name: "GLibHost",
    dependencies: [.package(name: "RunLoopKit", path: "../..")],
    targets: [
        .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .executableTarget(
            name: "GLibHost", dependencies: ["CGLib", .product(name: "RunLoopKit", package: "RunLoopKit")]),
    ],
    swiftLanguageModes: [.v6]
)
