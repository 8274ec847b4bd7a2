import RunLoopKit
import RunLoopRules

/// A view: a rectangle whose size constraints determine. Accessed only on the story's thread.
///
/// It knows nothing of the detector, which watches the two limited methods from outside.
final class View: @unchecked Sendable {
    static let layouting = LimitedMethod<View, Void>("layout") { view, _ in view.satisfyConstraints() }
    static let invalidating = LimitedMethod<View, Void>("invalidate") { view, _ in view.window?.enqueue(view) }

    let name: String

    /// Set by the window that the view is in.
    weak var window: Window?

    private(set) var size = Size(width: 0, height: 0)
    private var constraints: [Constraint] = []

    /// The views with a constraint on this view's size. Weak, since views constrain each other.
    private var dependents: [Reference] = []

    struct Size: Equatable {
        var width: Double
        var height: Double
    }

    /// What a constraint determines.
    enum Attribute { case width, height }

    /// Determines an attribute of a view.
    private struct Constraint {
        let attribute: Attribute
        let value: () -> Double
    }

    private struct Reference {
        weak var view: View?
    }

    init(_ name: String) { self.name = name }

    /// Adds a constraint.
    ///
    /// - Parameters:
    ///   - sources: The views whose sizes it depends on: when one changes, this view is laid out again.
    ///   - value: Computes the attribute. Retains no view.
    func constrain(_ attribute: Attribute, on sources: [View], _ value: @escaping () -> Double) {
        constraints.append(Constraint(attribute: attribute, value: value))
        for source in sources { source.dependents.append(Reference(view: self)) }
    }

    /// Computes the view's size now.
    func layout() { View.layouting(self) }

    /// Has the next layout pass lay out the view.
    func invalidate() { View.invalidating(self) }

    private func satisfyConstraints() {
        window?.record(self, "layout")
        let old = size
        for constraint in constraints {
            switch constraint.attribute {
            case .width: size.width = constraint.value()
            case .height: size.height = constraint.value()
            }
        }
        if size != old { for dependent in dependents { dependent.view?.invalidate() } }
    }
}
