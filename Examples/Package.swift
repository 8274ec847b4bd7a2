// swift-tools-version: 6.2

import PackageDescription

/// A program, whose folder in Sources has its name.
func program(_ name: String, dependencies: [Target.Dependency] = []) -> Target {
    .executableTarget(
        name: name, dependencies: [.product(name: "RunLoopKit", package: "RunLoopKit")] + dependencies)
}

let rules = Target.Dependency.product(name: "RunLoopRules", package: "RunLoopKit")

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "RunLoopKit", path: "..")],
    targets: [
        program("ActorThread"),
        program("CFRunLoopPort"),
        // Needs SQLite's development files; `swift run` of the others does not.
        program("DatabaseActor", dependencies: ["CSQLite"]),
        .systemLibrary(name: "CSQLite"),
        program("DirectoryWatcher"),
        program("EchoServer"),
        program("MainExecutor"),
        program("MethodRules", dependencies: [rules]),
        // Needs libpq's development files.
        program("PostgresListener", dependencies: ["CLibPQ"]),
        .systemLibrary(name: "CLibPQ"),
        program("Supervisor"),
        program("TerminalApplication"),
    ],
    swiftLanguageModes: [.v6]
)
