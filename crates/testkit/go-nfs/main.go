// A server of NFS version 3 over TCP by willscott/go-nfs: one directory, exported as /mount, at one port of
// this machine. MOUNT answers at the same port, and no portmapper knows it.
//
//	go-nfs PORT DIRECTORY
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	nfs "github.com/willscott/go-nfs"
	"github.com/willscott/go-nfs/helpers"
)

// Handles that the server knows at a time.
const handles = 4096

// directory adds to a file system of billy what SETATTR asks for.
type directory struct{ billy.Filesystem }

func (d directory) path(name string) string { return d.Join(d.Root(), name) }

func (d directory) Chmod(name string, mode os.FileMode) error {
	return os.Chmod(d.path(name), mode)
}

func (d directory) Lchown(name string, uid, gid int) error {
	return os.Lchown(d.path(name), uid, gid)
}

func (d directory) Chown(name string, uid, gid int) error {
	return os.Chown(d.path(name), uid, gid)
}

func (d directory) Chtimes(name string, accessed, modified time.Time) error {
	return os.Chtimes(d.path(name), accessed, modified)
}

// handler also exports the directories below, as the tools of libnfs mount those that files lie in.
type handler struct {
	nfs.Handler
	root billy.Filesystem
}

func (h handler) Mount(_ context.Context, _ net.Conn, asked nfs.MountRequest) (nfs.MountStatus, billy.Filesystem, []nfs.AuthFlavor) {
	path := strings.TrimPrefix(string(asked.Dirpath), "/mount")
	if about, err := h.root.Stat(path); err != nil || !about.IsDir() {
		return nfs.MountStatusErrNoEnt, h.root, nil
	}
	below, err := h.root.Chroot(path)
	if err != nil {
		return nfs.MountStatusErrServerFault, h.root, nil
	}
	return nfs.MountStatusOk, directory{below}, []nfs.AuthFlavor{nfs.AuthFlavorNull}
}

func (h handler) Change(of billy.Filesystem) billy.Change {
	change, _ := of.(billy.Change)
	return change
}

func serve(port, path string) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	root := directory{osfs.New(path)}
	served := handler{helpers.NewNullAuthHandler(root), root}
	return nfs.Serve(listener, helpers.NewCachingHandler(served, handles))
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go-nfs PORT DIRECTORY")
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "go-nfs:", serve(os.Args[1], os.Args[2]))
	os.Exit(1)
}
