/// An SVG picture, made element by element. Lengths are pixels.
struct SVG {
    private var elements: [String] = []

    /// - Parameters:
    ///   - attributes: In the order given.
    ///   - text: The element's text.
    mutating func add(_ name: String, _ attributes: KeyValuePairs<String, Any>, text: String? = nil) {
        let list = attributes.map { " \($0.key)=\"\(SVG.escaped(SVG.text(of: $0.value)))\"" }.joined()
        elements.append("<\(name)\(list)" + (text.map { ">\(SVG.escaped($0))</\(name)>" } ?? "/>"))
    }

    /// Opens a group; `endGroup()` closes it.
    mutating func beginGroup(_ attributes: KeyValuePairs<String, Any>, title: String) {
        add("g", attributes, text: "")
        let tag = elements.removeLast().dropLast("</g>".count)
        elements.append(tag + "<title>\(SVG.escaped(title))</title>")
    }

    mutating func endGroup() { elements.append("</g>") }

    /// The whole file.
    ///
    /// - Parameter style: CSS for the classes of its elements.
    func document(width: Double, height: Double, title: String, style: String) -> String {
        let size = "width=\"\(SVG.text(of: width))\" height=\"\(SVG.text(of: height))\""
        let box = "viewBox=\"0 0 \(SVG.text(of: width)) \(SVG.text(of: height))\""
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) role="img">
            <title>\(SVG.escaped(title))</title>
            <style>
            \(style)
            </style>
            \(elements.joined(separator: "\n"))
            </svg>

            """
    }

    /// A piece of a path: a straight line between two points.
    static func line(_ start: (x: Double, y: Double), _ end: (x: Double, y: Double)) -> String {
        let head = "M\(text(of: start.x)) \(text(of: start.y))"
        return start.x == end.x ? "\(head)V\(text(of: end.y))" : "\(head)L\(text(of: end.x)) \(text(of: end.y))"
    }

    /// A path: a square on its corner.
    static func diamond(_ x: Double, _ y: Double, _ radius: Double) -> String {
        let (left, width) = (text(of: -radius), text(of: radius))
        return "M\(text(of: x)) \(text(of: y - radius))l\(width) \(width)l\(left) \(width)l\(left) \(left)z"
    }

    /// Numbers with two decimals at most, which is finer than can be seen.
    private static func text(of value: Any) -> String {
        guard let number = value as? Double else { return "\(value)" }
        let hundredths = Int((number * 100).rounded())
        guard hundredths % 100 != 0 else { return "\(hundredths / 100)" }
        let sign = hundredths < 0 ? "-" : ""
        let fraction = String(hundredths.magnitude % 100)
        let decimals = (fraction.count == 1 ? "0" : "") + fraction
        return sign + "\(hundredths.magnitude / 100)."
            + (decimals.hasSuffix("0") ? String(decimals.dropLast()) : decimals)
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
    }
}
