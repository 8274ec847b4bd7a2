#if DEBUG && !PLAIN_ATOMICS
    @testable import RunLoopKit

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Tasks that receive ticks, sends, activities and reports.
    let sequenceTasks: [Program] = [
        Program("tasks: ticks against a cancellation", bound: 1) { play in
            play.besideLoop { loop, threads in
                let interval = Duration.microseconds(10)
                let task = threads[0].task {
                    var last: Loop.Instant?
                    var count = 0
                    for await tick in loop.ticks(every: interval) {
                        if let last {
                            let step = last.duration(to: tick.scheduledTime)
                            play.require(
                                step == interval * (1 + tick.missed), "A tick missed \(tick.missed), after \(step).")
                        }
                        last = tick.scheduledTime
                        count += 1
                        if count == 3 { break }
                    }
                    play.require(count == 3 || Task.isCancelled, "The ticks ended after \(count).")
                }
                return [{ task.cancel() }]
            }
        },
        Program("tasks: ticks against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                tasks.task { for await _ in thread.loop.ticks(every: .seconds(1000)) {} }
                return [{ thread.stop() }]
            }
        },
        Program("tasks: sends and activities against the loop's end", bound: 1) { play in
            play.besideThread { thread, tasks in
                let (port, sends) = try! Loop.PortSource.makeSends(on: thread.loop)
                tasks.task {
                    var sum = 0
                    for await count in sends { sum += count }
                    play.require(sum <= 1, "\(sum) sends came.")
                }
                tasks.task { for await _ in thread.loop.activities(.beforeWaiting) {} }
                return [
                    {
                        port.send()
                        thread.stop()
                    }
                ]
            }
        },
        Program("tasks: sends against a cancellation", bound: 1) { play in
            play.besideLoop { loop, threads in
                let (port, sends) = try! Loop.PortSource.makeSends(on: loop)
                let task = threads[0].task {
                    var sum = 0
                    for await count in sends {
                        sum += count
                        play.require(sum <= 3, "\(sum) of 3 sends came.")
                        if sum == 3 { break }
                    }
                    play.require(sum == 3 || Task.isCancelled, "\(sum) of 3 sends came.")
                }
                return [{ for _ in 0..<3 { port.send() } }, { task.cancel() }]
            }
        },
        Program("tasks: sends of two threads") { play in
            play.besideLoop { loop, threads in
                let (port, sends) = try! Loop.PortSource.makeSends(on: loop)
                threads[0].task {
                    var sum = 0
                    for await count in sends {
                        sum += count
                        if sum == 3 { break }
                    }
                    play.require(sum == 3, "\(sum) of 3 sends came.")
                }
                return [{ for _ in 0..<2 { port.send() } }, { port.send() }]
            }
        },
        Program("tasks: activities against a cancellation", bound: 1) { play in
            play.besideLoop { loop, threads in
                let task = threads[0].task {
                    var last: Loop.Activity?
                    for await passage in loop.activities([.beforeWaiting, .afterWaiting]) {
                        play.require(
                            passage.missed > 0 || passage.activity != last, "\(passage.activity) came twice.")
                        last = passage.activity
                    }
                    play.require(Task.isCancelled, "The activities ended.")
                }
                return [
                    {
                        for _ in 0..<2 { loop.wakeUp() }
                        task.cancel()
                    }
                ]
            }
        },
        Program("tasks: reports of a descriptor against a cancellation", bound: 1) { play in
            let writer = Shared<Int32>(-1)
            // The task may have closed the other end.
            signal(SIGPIPE, SIG_IGN)
            play.finally {
                close(writer.value)
                signal(SIGPIPE, SIG_DFL)
            }
            play.keepsDescriptors()
            play.besideLoop { loop, threads in
                var ends: [Int32] = [0, 0]
                play.require(pipe(&ends) == 0, "There is no pipe.")
                writer.value = ends[1]
                let (source, reports) = try! Loop.FileDescriptorSource.makeReports(owning: ends[0], on: loop)
                let task = threads[0].task {
                    var count = 0
                    var byte: UInt8 = 0
                    for await _ in reports {
                        play.require(read(source.descriptor, &byte, 1) == 1, "A report has come twice.")
                        count += 1
                        if count == 2 { break }
                    }
                    play.require(count == 2 || Task.isCancelled, "\(count) of 2 bytes were reported.")
                }
                return [
                    {
                        var byte: UInt8 = 1
                        for _ in 0..<2 {
                            write(writer.value, &byte, 1)
                            loop.wakeUp()
                        }
                    }, { task.cancel() },
                ]
            }
        },
    ]
#endif
