import RunLoopKit

/// A window with a picture in a scroll view, below a header and above a status line.
///
/// The picture keeps its proportions: the wider, the higher. If it is higher than the scroll view, a scroll bar
/// appears, which makes it narrower, and so lower.
final class Window {
    private enum Metrics {
        static let header = 24.0
        static let status = 16.0
        static let bar = 16.0
        /// Height by width.
        static let proportions = 0.75
    }

    private(set) var size = View.Size(width: 0, height: 0)
    let views: [View]
    let picture = View("picture")
    let bar = View("bar")

    /// The calls of the last layout pass, such as `picture.layout`.
    private(set) var trail: [String] = []

    /// The views to lay out, in the order in which they were invalidated.
    private var queue: [View] = []

    /// - Parameter isMended: Whether the scroll bar depends on the height that the picture has without a scroll bar.
    ///   Otherwise it depends on the height that the picture has, which depends on the scroll bar.
    init(isMended: Bool) {
        let (header, scroll, status) = (View("header"), View("scroll"), View("status"))
        views = [header, scroll, picture, bar, status]
        for view in views { view.window = self }

        header.constrain(.width, on: []) { [unowned self] in size.width }
        header.constrain(.height, on: []) { Metrics.header }
        status.constrain(.width, on: []) { [unowned self] in size.width }
        status.constrain(.height, on: []) { Metrics.status }
        scroll.constrain(.width, on: []) { [unowned self] in size.width }
        scroll.constrain(.height, on: [header, status]) { [unowned self, unowned header, unowned status] in
            size.height - header.size.height - status.size.height
        }
        picture.constrain(.width, on: [scroll, bar]) { [unowned scroll, unowned bar] in
            scroll.size.width - bar.size.width
        }
        picture.constrain(.height, on: []) { [unowned picture] in picture.size.width * Metrics.proportions }
        bar.constrain(.height, on: [scroll]) { [unowned scroll] in scroll.size.height }
        if isMended {
            bar.constrain(.width, on: [scroll]) { [unowned scroll] in
                scroll.size.width * Metrics.proportions > scroll.size.height ? Metrics.bar : 0
            }
        } else {
            bar.constrain(.width, on: [scroll, picture]) { [unowned scroll, unowned picture] in
                picture.size.height > scroll.size.height ? Metrics.bar : 0
            }
        }
    }

    /// Invalidates all views; the next layout pass lays them out.
    func resize(to size: View.Size) {
        self.size = size
        for view in views { view.invalidate() }
    }

    // MARK: The layout pass

    /// Lays out invalidated views until none is left. Called by a beforeWaiting observer: the loop sleeps only when the
    /// layout is at rest.
    func layOutIfNeeded() {
        if !queue.isEmpty { trail = [] }
        while !queue.isEmpty { queue.removeFirst().layout() }
    }

    func enqueue(_ view: View) {
        record(view, "invalidate")
        if !queue.contains(where: { $0 === view }) { queue.append(view) }
    }

    func record(_ view: View, _ name: String) { trail.append("\(view.name).\(name)") }
}
