/// Objects, each in a slot of its own, a small number, until it leaves.
///
/// It retains its objects, and gives access to them without counting references.
struct SlotTable<Element: AnyObject>: ~Copyable {
    private var elements = PlainArray<Unmanaged<Element>?>()

    /// The slots that objects have left.
    private var free = PlainArray<UInt32>()

    deinit { for index in 0..<elements.count { elements[index]?.release() } }

    /// Calls `body` with the object in a slot.
    ///
    /// - Precondition: There is one.
    @inline(__always)
    func with<Result>(_ slot: UInt32, _ body: (Element) -> Result) -> Result {
        elements[Int(slot)]!._withUnsafeGuaranteedRef(body)
    }

    /// Whether this object is in the slot. There may be no such slot.
    @inline(__always)
    func has(_ element: Element, in slot: UInt32) -> Bool {
        Int(slot) < elements.count && elements[Int(slot)]?.toOpaque() == Unmanaged.passUnretained(element).toOpaque()
    }

    subscript(slot: UInt32) -> Element { elements[Int(slot)]!.takeUnretainedValue() }

    /// Returns the slot of the object, the lowest one that was never used if none is free.
    @inline(__always)
    mutating func insert(_ element: Element) -> UInt32 {
        if free.isEmpty {
            elements.append(.passRetained(element))
            return UInt32(truncatingIfNeeded: elements.count - 1)
        }
        let slot = free.removeLast()
        elements[Int(slot)] = .passRetained(element)
        return slot
    }

    /// - Precondition: The caller has a reference to the object.
    @inline(__always)
    mutating func remove(_ slot: UInt32) {
        elements[Int(slot)]!.release()
        elements[Int(slot)] = nil
        free.append(slot)
    }

    /// Whether most slots are free, of more than a few. An array never shrinks by itself.
    var isSparse: Bool { elements.count > 64 && elements.count - free.count < elements.count / 8 }
}
