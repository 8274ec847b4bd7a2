import Foundation
import WeakMemory

/// A row of `Accesses.txt`: an atomic access, and why its order suffices.
struct AccessRow: Hashable {
    let access: SourceAccess
    /// "model" if a model of a protocol has it; else a word of docs/memory-orders.md.
    let reason: String
    /// Whether an access of the same name has a stronger order.
    fileprivate(set) var isWeakerOfTwo = false

    private init?(_ line: Substring) {
        let parts = line.split(separator: " ")
        guard parts.count == 5, parts[1].contains("/") else { return nil }
        access = SourceAccess(
            file: String(parts[1]), function: String(parts[2]), access: String(parts[3]), orders: String(parts[4]))
        reason = String(parts[0])
    }

    static let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Accesses.txt")

    static func all() throws -> [AccessRow] {
        var rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { AccessRow($0) }
        for index in rows.indices {
            rows[index].isWeakerOfTwo = rows.contains {
                $0.name == rows[index].name && $0.access.orders != rows[index].access.orders
                    && rows[index].access.orders == "relaxed"
            }
        }
        return rows
    }

    /// Without the order.
    private var name: String { "\(access.file) \(access.function) \(access.access)" }

    /// Its name in the models, its order, and what it does. A compare-exchange has two.
    var sites: [(site: String, order: Order, kind: Order.Access)] {
        let file = access.file.split(separator: "/").last!.split(separator: ".")[0]
        let site = "\(file).\(access.function) \(access.access)" + (isWeakerOfTwo ? " relaxed" : "")
        let orders = access.orders.split(separator: "/").map { Order(rawValue: String($0))! }
        let kind: Order.Access =
            access.access.hasSuffix(".load") ? .load : access.access.hasSuffix(".store") ? .store : .modification
        return [(site, orders[0], kind)] + orders.dropFirst().map { (site + " failure", $0, .load) }
    }
}
