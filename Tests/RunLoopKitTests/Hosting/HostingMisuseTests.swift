import LoopTestSupport
import TestSupport
import Testing

@testable import RunLoopKit

/// Hosted loops whose thread ends. What traps is in `MistakeProgram`.
@Suite(.timeBound) struct HostingMisuseTests {
    @Test("A thread may end while its loop is hosted")
    func threadEnds() throws {
        let log = Log<String>()
        try onThreadOfItsOwn {
            let source = Loop.Source0(cancel: { _, _ in log.add("cancelled") }, perform: {})
            Loop.current.add(source, in: .default)
            try Host(Loop.current).serve()
        }
        #expect(log.entries == ["cancelled"])
    }
}
