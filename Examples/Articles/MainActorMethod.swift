import RunLoopKit
import RunLoopRules

// A class of the main actor. Its method's body may touch its state, and
// so may the calls that a rule delays: they run on the main loop.
@MainActor final class Page {
    static let saving = LimitedMethod<Page, Void>(
        "save", isolation: .shared
    ) { page, _ in
        page.versions += 1
        print("saves version \(page.versions) of \(page.title)")
    }
    func save() { Page.saving(self) }

    var title = "home" { didSet { save() } }
    private var versions = 0
}

let page = Page()
let rule = try Page.saving.limit(for: page, every: .milliseconds(10))

for title in ["h", "he", "help"] { page.title = title }
let end = Loop.Timer(after: .milliseconds(100), isolation: .shared) { _ in
    page.title = "news"
    try? rule.discard()  // a call that waits runs now
    Loop.main.stop()
}
Loop.main.add(end, in: .common)
Loop.main.run()
