#if canImport(CLibUV)
    import CLibUV
#endif
#if canImport(CLibEvent)
    import CLibEvent
#endif
#if canImport(CGLib)
    import CGLib
#endif

/// The C libraries that take part, as they name their versions at run time.
enum Versions {
    static var all: [String] {
        var versions: [String] = []
        #if canImport(CLibUV)
            versions.append("libuv \(String(cString: uv_version_string()))")
        #endif
        #if canImport(CLibEvent)
            versions.append("libevent \(String(cString: event_get_version()))")
        #endif
        #if canImport(CGLib)
            versions.append("GLib \(glib_major_version).\(glib_minor_version).\(glib_micro_version)")
        #endif
        return versions
    }
}
