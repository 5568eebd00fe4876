package bundle

import (
	"os"
	"path/filepath"

	"aisync.dev/aisync/internal/fetch/address"
)

// AddressError says why a text is no address of a source, and what to write.
type AddressError = address.Error

// Address reads the address of a source as a person writes it; a relative folder
// starts at dir. See address.Parse for what it returns. Every error is an
// *AddressError.
func Address(text, dir string) (string, error) {
	return address.Parse(text, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.IsDir()
	})
}

// Below is the address of a folder in the source at url.
func Below(url, folder string) string {
	if Remote(url) {
		return address.Below(url, folder)
	}
	if folder == "" || folder == "." {
		return url
	}
	return url + "/" + folder
}

// FolderOf is the folder of a repository or archive that url names; "" is all.
func FolderOf(url string) string {
	if !Remote(url) {
		return ""
	}
	return address.Folder(url)
}

// ShortAddress is the shortest text that Address reads as url.
func ShortAddress(url string) string { return address.Short(url) }
