package main

import "os"

func main() {
	c := make(chan int)
	go func() { c <- 5 }()
	n := <-c
	println(n)
	os.Exit(n)
}
