// swift-tools-version: 6.2

// A package of its own, so that RunLoopKit depends on none of its peers. On Debian: apt install libuv1-dev libevent-dev
// libglib2.0-dev. scripts/benchmark-all names in PEERS those that are installed.
import PackageDescription

/// Peers that are C libraries: the name for pkg-config, the module, the package to install.
let libraries = [
    ("libuv", "CLibUV", "libuv1-dev"), ("libevent", "CLibEvent", "libevent-dev"),
    ("glib-2.0", "CGLib", "libglib2.0-dev"),
].filter {
    (Context.environment["PEERS"] ?? "libuv libevent glib-2.0").split(separator: " ").map(String.init).contains($0.0)
}

let hasGLib = libraries.contains { $0.0 == "glib-2.0" }

/// swift-platform-executors takes part if the environment has its path.
let executors = Context.environment["PLATFORM_EXECUTORS"]

let package = Package(
    name: "Peers",
    dependencies: [
        .package(name: "RunLoopKit", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio.git", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms.git", exact: "1.1.4"),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", exact: "0.14.0"),
    ] + (hasGLib ? [.package(name: "RunLoopKitGLib", path: "../../Integrations/GLib")] : [])
        + (executors.map { [.package(name: "swift-platform-executors", path: $0)] } ?? []),
    targets: [
        .executableTarget(
            name: "Peers",
            dependencies: [
                .product(name: "RunLoopKit", package: "RunLoopKit"),
                .product(name: "RunLoopDiagnostics", package: "RunLoopKit"),
                .product(name: "RunLoopRules", package: "RunLoopKit"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
                .product(name: "OpenCombineFoundation", package: "OpenCombine"), "CAllocator",
            ] + libraries.map { .target(name: $0.1) }
                + (hasGLib ? [.product(name: "RunLoopKitGLib", package: "RunLoopKitGLib")] : [])
                + (executors == nil
                    ? [] : [.product(name: "PlatformExecutors", package: "swift-platform-executors")]),
            // canImport would find the module of an earlier build.
            swiftSettings: executors == nil ? [] : [.define("PLATFORM_EXECUTORS")]),
        .systemLibrary(name: "CAllocator"),
    ] + libraries.map { .systemLibrary(name: $0.1, pkgConfig: $0.0, providers: [.apt([$0.2])]) },
    swiftLanguageModes: [.v6]
)
