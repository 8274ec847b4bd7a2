import WeakMemory

/// The orders of the library's atomic accesses, as `Accesses.txt` has them, of which some may be weakened.
///
/// A site is named as `Waker.leave word.bitwiseOr`: file, function, variable and operation. Accesses of one name have
/// one order. The failure of a compare-exchange is a site of its own, with `failure` behind its name.
final class Orders {
    private let orders: [String: Order]
    private let weakened: [String: Order]
    /// The sites that a model has asked for.
    private(set) var used: Set<String> = []

    init(_ rows: [AccessRow], _ weakened: [String: Order] = [:]) {
        var orders: [String: Order] = [:]
        for row in rows {
            for (site, order, _) in row.sites { orders[site] = order }
        }
        self.orders = orders
        self.weakened = weakened
    }

    /// By the address of the name: a model asks again at each step of the explorer.
    private var known: [UnsafePointer<UInt8>: Order] = [:]
    private var knownFailures: [UnsafePointer<UInt8>: Order] = [:]

    subscript(_ site: StaticString) -> Order {
        if let order = known[site.utf8Start] { return order }
        let order = order(of: site.description)
        known[site.utf8Start] = order
        return order
    }

    func failure(_ site: StaticString) -> Order {
        if let order = knownFailures[site.utf8Start] { return order }
        let order = order(of: site.description + " failure")
        knownFailures[site.utf8Start] = order
        return order
    }

    func order(of site: String) -> Order {
        used.insert(site)
        if let order = weakened[site] { return order }
        guard let order = orders[site] else { fatalError("the library has no access '\(site)'") }
        return order
    }
}

/// A protocol of the library as a program of the weak machine.
struct ProtocolModel: Sendable, CustomStringConvertible {
    let name: String
    let build: @Sendable (Orders) -> Program

    var description: String { name }

    /// The sites that the model has, some of which it asks for only while it is explored.
    func sites(_ rows: [AccessRow]) -> Set<String> {
        let orders = Orders(rows)
        _ = build(orders).explore()
        return orders.used
    }

    static let all: [ProtocolModel] =
        lockModels + replyModels + sharedListModels + wakeModels + portModels + publicationModels + signalModels
        + diagnosticsModels + turnModels + arrivalModels
}
