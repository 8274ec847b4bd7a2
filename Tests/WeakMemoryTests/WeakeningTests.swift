import Foundation
import TestSupport
import Testing
import WeakMemory

/// The protocols of the library on a weak machine. With the orders of the sources none has a bad end. With any order
/// weakened one has, except where `StrongerThanNeeded` says why not.
@Suite(.timeBound) struct WeakeningTests {
    private static let rows = Result { try AccessRow.all() }

    /// The models that have a site.
    private static let models: [String: [ProtocolModel]] = {
        var models: [String: [ProtocolModel]] = [:]
        for model in ProtocolModel.all {
            for site in model.sites((try? rows.get()) ?? []) { models[site, default: []].append(model) }
        }
        return models
    }()

    private static let played = ProtocolModel.all + (LongRun.isOn ? ProtocolModel.longWakeModels : [])

    @Test("No protocol has a bad end", arguments: played)
    fileprivate func sourceOrders(_ model: ProtocolModel) throws {
        let findings = model.build(Orders(try WeakeningTests.rows.get())).explore()
        #expect(findings.fault == nil, "\(findings.trace.joined(separator: "\n"))")
        #expect(findings.stateCount > 5)
    }

    /// The first bad end of the models that have one of the sites.
    private func fault(_ weakened: [String: Order]) throws -> String? {
        let models = Set(weakened.keys.flatMap { WeakeningTests.models[$0] ?? [] }.map(\.name))
        for model in ProtocolModel.all where models.contains(model.name) {
            if let fault = model.build(Orders(try WeakeningTests.rows.get(), weakened)).explore().fault {
                return "\(fault), when \(model.name)"
            }
        }
        return nil
    }

    @Test("Each weakening of an order is found, or known to be harmless")
    func weakenings() throws {
        var known = StrongerThanNeeded.all
        var done: Set<String> = []
        var found = 0
        for row in try WeakeningTests.rows.get() where row.reason == "model" {
            for (site, order, kind) in row.sites where done.insert(site).inserted {
                let weaker = order.weaker(for: kind)
                let harmless = Set(try weaker.filter { try fault([site: $0]) == nil })
                let suffices = known.firstIndex { $0.site == site }.map { known.remove(at: $0).suffices } ?? []
                #expect(harmless == suffices, "\(site)")
                found += weaker.count - harmless.count
            }
        }
        #expect(known.map(\.site) == [], "not in the sources")
        #expect(found > 80)
    }

    @Test("What is harmless alone is found together")
    func togetherFound() throws {
        let wait = "Readers.waitUntilNoneSlowly word."
        let fault = try fault([wait + "load": .relaxed, wait + "bitwiseAnd": .relaxed, wait + "bitwiseOr": .relaxed])
        #expect(fault != nil)
    }

    @Test("A note that is set by a store misses a send")
    func noteSetByStore() throws {
        #expect(ProtocolModel.noteSetByStore.build(Orders(try WeakeningTests.rows.get())).explore().fault != nil)
    }

    @Test("Each order but relaxed has a model, except what a forked child reads")
    func strongOrdersHaveModels() throws {
        for row in try WeakeningTests.rows.get() {
            for (site, order, _) in row.sites {
                let hasModel = WeakeningTests.models[site] != nil
                #expect(hasModel == (row.reason == "model") || site.hasSuffix(" failure"), "\(site)")
                #expect(hasModel || order == .relaxed || row.reason == "fork", "\(site)")
            }
        }
    }
}
