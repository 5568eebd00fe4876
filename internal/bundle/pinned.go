package bundle

// PinnedSource names a bundle source at one pin; "" without a pin, as for a
// folder, which may change at any time.
func PinnedSource(url, pin string) string {
	if pin == "" {
		return ""
	}
	return url + "@" + pin
}
