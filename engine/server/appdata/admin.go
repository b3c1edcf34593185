package appdata

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/account"
)

// EnsureAdmin creates the first account with the given password. If given is "", it generates a
// password. It passes the generated password to show or, if show is nil, writes it to a file
// beside the database.
func (d *Database) EnsureAdmin(ctx context.Context, given string, show func(account, password string)) error {
	admin, err := d.Accounts.EnsureAdmin(ctx, given)
	if err != nil {
		return fmt.Errorf("creating %s: %w", account.AdminID, err)
	}
	if admin.Created && admin.Generated == "" && account.CheckPassword(given) != nil {
		d.log.Warn("RESTSRV_ADMIN_PASSWORD is short: choose a longer password for the administrator", "account", account.AdminID, "characters", utf8.RuneCountInString(given), "recommended", account.MinPassword, "to change it", "restsrv user passwd "+account.AdminID)
	}
	switch {
	case admin.Created && admin.Generated == "":
		d.log.Info("account created", "account", account.AdminID, "password", "as in RESTSRV_ADMIN_PASSWORD")
	case admin.Created && show != nil:
		show(account.AdminID, admin.Generated)
	case admin.Created:
		file, err := writePassword(d.file, admin.Generated)
		if err != nil {
			return fmt.Errorf("the password of the new account %s cannot be written down (restsrv user passwd %s sets another): %w", account.AdminID, account.AdminID, err)
		}
		d.log.Info("account created", "account", account.AdminID, "password", "in the file "+file)
	}
	return nil
}

// writePassword writes a password to a new file beside the database and returns its path. It
// never replaces an existing file, because that file may belong to another database. It tries the
// name admin-password, then admin-password-NAME with the name of the database, then the second
// name with a number added.
func writePassword(database, password string) (string, error) {
	base := filepath.Base(database)
	stem := filepath.Join(filepath.Dir(database), "admin-password")
	file := stem
	for n := 1; ; n++ {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			_, err = f.WriteString(password + "\n")
			return file, errors.Join(err, f.Close())
		}
		if !errors.Is(err, fs.ErrExist) || n == 100 {
			return "", err
		}
		file = stem + "-" + strings.TrimSuffix(base, filepath.Ext(base))
		if n > 1 {
			file += "-" + strconv.Itoa(n)
		}
	}
}

// WarnPasswordDiffers logs a warning if the given password (RESTSRV_ADMIN_PASSWORD) is not the
// stored password. It has to compute a password hash, which is slow, so call it when the server
// already answers requests.
func (d *Database) WarnPasswordDiffers(ctx context.Context, given string) {
	differs, err := d.Accounts.AdminPasswordDiffers(ctx, given)
	switch {
	case engine.CodeOf(err) == engine.NotFound:
		d.log.Warn("RESTSRV_ADMIN_PASSWORD changes nothing: there are other accounts, and no such one", "account", account.AdminID, "to add it", "restsrv user add -roles admin "+account.AdminID)
	case err == nil && differs:
		d.log.Warn("RESTSRV_ADMIN_PASSWORD is not the stored password and changes nothing", "account", account.AdminID, "to change it", "restsrv user passwd "+account.AdminID)
	}
}
