@testable import RunLoopKit

/// A limiter of a program. It counts its handlers, all of which must be released in the end.
protocol LawHandlerOwner: AnyObject, CustomStringConvertible {
    var player: LawPlayer { get }
    var handlersAlive: Int { get set }
}

extension LawHandlerOwner {
    func checkHandlersAreReleased() {
        player.expect(handlersAlive == 0, "\(self): \(handlersAlive) handlers not released")
    }
}

/// What a limiter's handler captures: its deinit shows the release, which must come without a lock.
final class LawHandler<Owner: LawHandlerOwner>: @unchecked Sendable {
    unowned let owner: Owner

    init(_ owner: Owner) {
        self.owner = owner
        owner.handlersAlive += 1
    }

    deinit {
        Lock.assertNoneHeld()
        owner.handlersAlive -= 1
    }
}
