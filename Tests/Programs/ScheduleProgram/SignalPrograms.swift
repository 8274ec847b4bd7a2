#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Signals that come while their sources change.
    let signalPrograms: [Program] = [
        Program("a signal source: a signal against a second source") { play in
            play.hears { sources, loop in
                loop.add(sources[1], in: .default)
                sources[0].invalidate()
            }
        },
        Program("a signal source: two threads add and invalidate") { play in
            play.hears { sources, loop in
                start { sources[0].invalidate() }
                loop.add(sources[1], in: .default)
                sources[1].invalidate()
            }
        },
        Program("a signal source: a signal against a handler") { play in
            play.keepsDescriptors()
            play.thread {
                signal(SIGUSR1, SIG_IGN)
                let loop = Loop.current
                let captured = play.capture()
                let source = try! Loop.SignalSource(SIGUSR1)
                loop.add(source, in: .default)
                let threads = [
                    start { raiseSignal() },
                    start {
                        source.setHandler { _, arrivals in
                            captured.value += arrivals.count
                            loop.stop()
                        }
                    },
                ]
                let result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                play.require(result == .stopped && captured.value == 1, "\(captured.value) signals: \(result).")
                source.invalidate()
            }
            play.finally { play.require(isIgnored(SIGUSR1), "The signal does not have its old effect.") }
        },
        Program("a signal source: signals against a move to another mode") { play in
            play.keepsDescriptors()
            play.thread {
                signal(SIGUSR1, SIG_IGN)
                let loop = Loop.current
                let captured = play.capture()
                let source = try! Loop.SignalSource(SIGUSR1) { _, arrivals in captured.value += 1 }
                loop.add(source, in: .default)
                let threads = [
                    start { raiseSignal() },
                    start {
                        loop.add(source, in: "other")
                        loop.remove(source, in: .default)
                    },
                ]
                loop.run(mode: .default, for: .milliseconds(1))
                for thread in threads { System.join(thread) }
                loop.run(mode: "other", for: .milliseconds(1))
                play.require(captured.value == 1, "\(captured.value) signals of 1 were reported.")
                source.invalidate()
            }
            play.finally { play.require(isIgnored(SIGUSR1), "The signal does not have its old effect.") }
        },
    ]

    /// Sends the calling thread a signal.
    private func raiseSignal() {
        // The scheduler looks at descriptors behind each call of the seam.
        _ = clinux_is_open(0)
        raise(SIGUSR1)
    }

    private func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        return action.__sigaction_handler.sa_handler.map { unsafeBitCast($0, to: Int.self) } == 1
    }

    extension Play {
        /// A signal comes while sources for it are added and invalidated. In the end it has its old effect again.
        fileprivate func hears(_ act: @escaping @Sendable ([Loop.SignalSource], Loop) -> Void) {
            keepsDescriptors()
            thread { [self] in
                signal(SIGUSR1, SIG_IGN)
                let loop = Loop.current
                let captured = capture()
                let sources = (0..<2).map { _ in
                    try! Loop.SignalSource(SIGUSR1) { _, arrivals in captured.value += arrivals.count }
                }
                loop.add(sources[0], in: .default)
                let threads = [start { raiseSignal() }, start { act(sources, loop) }]
                loop.run(mode: .default, for: .milliseconds(1))
                for thread in threads { System.join(thread) }
                loop.run(mode: .default, for: .milliseconds(1))
                require(captured.value <= 2, "\(captured.value) arrivals of one signal.")
                for source in sources { source.invalidate() }
            }
            finally { [self] in require(isIgnored(SIGUSR1), "The signal does not have its old effect.") }
        }
    }
#endif
