#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Descriptors that one thread makes ready, while another changes how they are watched.
    let descriptorPrograms: [Program] = [
        Program("a descriptor is ready, and its source invalidated") { play in
            play.keepsDescriptors()
            play.thread {
                let pipe = Pipe()
                let captured = play.capture()
                let source = try! Loop.FileDescriptorSource(owning: pipe.reader) { source, _ in
                    captured.value += 1
                    play.require(source.descriptor == pipe.reader, "The handler has no descriptor.")
                    play.require(pipe.read() == 1, "The handler reads nothing.")
                }
                Loop.current.add(source, in: .default)
                let writer = start { pipe.write() }
                let other = start {
                    source.invalidate()
                    // If it is closed, another file gets its number, and must stay open.
                    let new = dup(pipe.writer)
                    source.invalidate()
                    _ = clinux_is_open(new)
                    play.require(clinux_is_open(new), "A descriptor is closed twice.")
                    close(new)
                }
                Loop.current.run(mode: .default, for: .milliseconds(10))
                System.join(writer)
                System.join(other)
                play.require(source.descriptor == -1, "The descriptor is not closed.")
                pipe.closeWriter()
            }
        },
        Program("a descriptor is ready, and its source armed again") { play in
            play.readsAll(isOneShot: true) { source in
                source.disarm()
                source.rearm()
            }
        },
        Program("a descriptor is ready, and its edge asked for again") { play in
            play.readsAll(trigger: .edge) { source in source.rearm() }
        },
        Program("a descriptor is ready, and the interest changes") { play in
            play.readsAll { source in
                source.interest = []
                source.interest = .read
            }
        },
        Program("a descriptor is ready, and gets a handler") { play in
            play.readsAll(hasHandler: false) { _ in }
        },
        Program("a descriptor is ready, and moves to another mode") { play in
            play.readsAll { source in
                guard let loop = source.currentModes.first?.loop else { return }
                loop.add(source, in: "other")
                loop.remove(source, in: .default)
                loop.add(source, in: .default)
            }
        },
        Program("two threads arm a descriptor") { play in
            play.keepsDescriptors()
            play.thread {
                let pipe = Pipe()
                let loop = Loop.current
                let source = try! Loop.FileDescriptorSource(owning: pipe.reader) { source, _ in
                    if pipe.read() == 1 { loop.stop() }
                }
                loop.add(source, in: .default)
                let threads = [
                    start { source.disarm() }, start { source.rearm() }, start { pipe.write() },
                ]
                for thread in threads { System.join(thread) }
                source.rearm()
                let result = loop.run(mode: .default, for: .seconds(1000))
                play.require(result == .stopped, "The descriptor is not reported.")
                source.invalidate()
                pipe.closeWriter()
            }
        },
    ]

    private final class Pipe: Sendable {
        let reader: Int32
        let writer: Int32

        init() {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { fatalError("no pipe") }
            for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
            (reader, writer) = (ends[0], ends[1])
        }

        func write() { _ = clinux_write_quietly(writer, [7], 1) }

        func read() -> Int {
            var byte: UInt8 = 0
            return clinux_read(reader, &byte, 1)
        }

        func closeWriter() { close(writer) }
    }

    extension Play {
        /// A byte is read once it is written, whatever another thread does to the source meanwhile.
        fileprivate func readsAll(
            trigger: Loop.FileDescriptorSource.Trigger = .level, isOneShot: Bool = false, hasHandler: Bool = true,
            _ change: @escaping @Sendable (Loop.FileDescriptorSource) -> Void
        ) {
            keepsDescriptors()
            thread { [self] in
                let pipe = Pipe()
                let loop = Loop.current
                let captured = capture()
                let handler: Loop.FileDescriptorSource.Handler = { source, _ in
                    captured.value += max(0, pipe.read())
                    if captured.value == 1 { loop.stop() }
                    if source.isOneShot { source.rearm() }
                }
                let source = try! Loop.FileDescriptorSource(
                    owning: pipe.reader, trigger: trigger, isOneShot: isOneShot, handler: hasHandler ? handler : nil)
                loop.add(source, in: .default)
                let threads = [
                    start { pipe.write() },
                    start { if hasHandler { change(source) } else { source.setHandler(handler) } },
                ]
                var result = loop.run(mode: .default, for: .seconds(1000))
                for thread in threads { System.join(thread) }
                // It may have been in no mode for a moment.
                if result == .finished { result = loop.run(mode: .default, for: .seconds(1000)) }
                require(captured.value == 1, "The byte is not read: \(result).")
                source.invalidate()
                pipe.closeWriter()
            }
        }
    }
#endif
