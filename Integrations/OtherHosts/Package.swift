// swift-tools-version: 6.2

// Programs, one for each library: build those whose library is installed, with `--product`. On Debian:
// apt install libuv1-dev libsdl2-dev qt6-base-dev
import PackageDescription

let loop = Target.Dependency.product(name: "RunLoopKit", package: "RunLoopKit")

let package = Package(
    name: "OtherHosts",
    products: ["UVHost", "SDLHost", "QtHost"].map { .executable(name: $0, targets: [$0]) },
    dependencies: [.package(name: "RunLoopKit", path: "../..")],
    targets: [
        .systemLibrary(name: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .executableTarget(name: "UVHost", dependencies: ["CUV", loop]),
        .systemLibrary(name: "CSDL", pkgConfig: "sdl2", providers: [.apt(["libsdl2-dev"])]),
        .executableTarget(name: "SDLHost", dependencies: ["CSDL", loop]),
        .systemLibrary(name: "CQt", pkgConfig: "Qt6Core", providers: [.apt(["qt6-base-dev"])]),
        .target(name: "QtShim", dependencies: ["CQt"]),
        .executableTarget(name: "QtHost", dependencies: ["QtShim", loop]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
