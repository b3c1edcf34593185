package command

import (
	"context"
	"errors"
	"fmt"

	"restsrv/engine/file"
	"restsrv/engine/server/appdata"
)

const filesUsage = `restsrv files finds orphans in the file storage: contents that no object uses, with
their thumbnails, remains of interrupted uploads, and entries of deleted objects.
It leaves out everything that is less than an hour old. It works beside a running
server.

  restsrv files           list orphans
  restsrv files -remove   remove them
`

// filesCommand runs restsrv files.
func filesCommand(ctx context.Context, args []string, s Stdio) (err error) {
	c := newDataCommand("files", filesUsage, s)
	remove := c.set.Bool("remove", false, "remove the orphans")
	d, err := c.openForReading(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var orphans []file.Orphan
	err = d.Files.Orphans(ctx, file.Holders{Meta: c.app.Meta, Data: d.Store}, func(o file.Orphan) error {
		orphans = append(orphans, o)
		return nil
	})
	if err != nil {
		return appdata.PlainError(err)
	}
	var bytes int64
	for _, o := range orphans {
		bytes += o.Size
		fmt.Fprintln(s.Out, orphanText(o))
		if *remove {
			if err := d.Files.Remove(ctx, o); err != nil {
				return appdata.PlainError(err)
			}
		}
	}
	what := "found; restsrv files -remove removes them"
	if *remove {
		what = "removed"
	}
	if len(orphans) == 0 {
		what = "found"
	}
	fmt.Fprintf(s.Out, "%d orphans of %d bytes %s\n", len(orphans), bytes, what)
	return nil
}

func orphanText(o file.Orphan) string {
	switch {
	case o.Row != nil:
		return fmt.Sprintf("entry    %s %q of %s %s, attribute %s", o.Row.ID, o.Row.Name, o.Row.Class, o.Row.Item, o.Row.Attribute)
	case o.Path != "":
		return fmt.Sprintf("remains  %s, %d bytes", o.Path, o.Size)
	}
	return fmt.Sprintf("content  %s, %d bytes", o.Hash, o.Size)
}
