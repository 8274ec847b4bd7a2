/// What a thread does next to the memory it shares with others.
enum Operation {
    case load(Location, Order)
    case store(Location, Int, Order)
    case modify(Location, Order, (Int) -> Int)
    case compareExchange(Location, expected: Int, desired: Int, Order, failure: Order, isWeak: Bool)
    case fence(Order)
    case read(Plain)
    case write(Plain, Int)
    /// Waits in the kernel until the last value meets the condition, and then changes it.
    case waitInKernel(Location, Order, condition: (Int) -> Bool, change: (Int) -> Int)
    /// Reads the last value: a thread that goes on reading sees it at some time.
    case loadLast(Location)
    case sleep(Location, while: Int)
    case wake(Location, all: Bool)
    case awaitOthers
    case choose(Int)
    case fail(String)

    /// Whether it commutes with what other threads do, so that no other order need be tried.
    var isPlain: Bool {
        switch self {
        case .read, .write, .fail: true
        default: false
        }
    }
}
