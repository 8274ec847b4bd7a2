// Makes each system call of the library fail, with each error that the manual lists for it, in small programs that
// together use every kind of input: once, and for ever. Debug builds only: a release build has no faults.
//
//     FaultProgram                             lists the programs
//     FaultProgram play all 0 1                every case; share 0 of 1, so that several processes can divide them
//     FaultProgram play quick 1 2 port timer   some cases of these programs, the second half
//     FaultProgram one port eventfd 1 24 once  one case: the program, the call, which one, errno, and how often
//     FaultProgram slow port                   pauses instead of faults
//     FaultProgram calls port                  which calls a program makes
//
// Each case is a child process. It may trap where that is documented, and may not hang, spin or leak.
#if DEBUG
    import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    signal(SIGPIPE, SIG_IGN)
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "play":
        let chosen = arguments.dropFirst(4)
        let player = Player(isQuick: arguments[1] == "quick", share: Int(arguments[2])!, of: Int(arguments[3])!)
        exit(player.play(scenes.filter { chosen.isEmpty || chosen.contains($0.name) }) ? 0 : 1)
    case "one":
        let scene = scenes.first { $0.name == arguments[1] }!
        let fault = Faults.Fault(
            Faults.Call(rawValue: arguments[2])!, first: Int(arguments[3])!, often: arguments[5],
            error: Int32(arguments[4])!)
        exit(Player(isQuick: false, share: 0, of: 1).play(scene, fault, arguments[5]) ? 0 : 1)
    case "child":
        scenes.first { $0.name == arguments[1] }!.playHere(Conditions(Array(arguments.dropFirst(2))))
    case "slow":
        let player = Player(isQuick: false, share: 0, of: 1)
        let scene = scenes.first { $0.name == arguments[1] }!
        exit(player.badPauses(scene, scene.playInChild().descriptors) == 0 ? 0 : 1)
    case "calls":
        for scene in scenes where scene.name == arguments[1] {
            let counts = scene.playInChild().calls
            for call in Faults.Call.allCases { if let count = counts[call] { print("\(call.rawValue): \(count)") } }
        }
    default:
        for scene in scenes { print(scene.name) }
    }
#else
    print("FaultProgram needs a debug build")
#endif
