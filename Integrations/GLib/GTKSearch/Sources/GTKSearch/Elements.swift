/// The chemical elements, searched off the main thread.
actor Elements {
    private let names = """
        Hydrogen Helium Lithium Beryllium Boron Carbon Nitrogen Oxygen Fluorine Neon Sodium Magnesium Aluminium \
        Silicon Phosphorus Sulfur Chlorine Argon Potassium Calcium Scandium Titanium Vanadium Chromium Manganese \
        Iron Cobalt Nickel Copper Zinc Gallium Germanium Arsenic Selenium Bromine Krypton Rubidium Strontium \
        Yttrium Zirconium Niobium Molybdenum Technetium Ruthenium Rhodium Palladium Silver Cadmium Indium Tin \
        Antimony Tellurium Iodine Xenon Caesium Barium Lanthanum Tantalum Tungsten Rhenium Osmium Iridium \
        Platinum Gold Mercury Thallium Lead
        """.split(whereSeparator: \.isWhitespace).map(String.init)

    /// The names that contain `text`, whatever its case.
    func names(with text: String) -> [String] {
        names.filter { $0.lowercased().contains(text.lowercased()) }
    }
}
