package group

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
)

// The constants of XXH3, as https://github.com/Cyan4973/xxHash specifies them.
const (
	prime32x1 = 0x9E3779B1
	prime32x2 = 0x85EBCA77
	prime32x3 = 0xC2B2AE3D
	prime64x1 = 0x9E3779B185EBCA87
	prime64x2 = 0xC2B2AE3D27D4EB4F
	prime64x3 = 0x165667B19E3779F9
	prime64x4 = 0x85EBCA77C2B2AE63
	prime64x5 = 0x27D4EB2F165667C5
	primeMix1 = 0x165667919E3779F9
	primeMix2 = 0x9FB21C651E98DF25
)

const (
	stripeBytes    = 64
	blockStripes   = (len(xxhSecret) - stripeBytes) / 8
	lastStripeSkip = 7
	mergeSkip      = 11
)

// xxhSecret is the specification's default.
const xxhSecret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8\xa8" +
	"\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea" +
	"\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b" +
	"\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

// xxh3 is the 64-bit XXH3 of b without a seed. No dependency of ours has it.
func xxh3(b []byte) uint64 {
	switch n := len(b); {
	case n == 0:
		return avalanche64(secret(56) ^ secret(64))
	case n <= 3:
		x := uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | uint64(n)<<8
		return avalanche64(x ^ uint64(uint32(secret(0))^uint32(secret(4))))
	case n <= 8:
		first, last := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[n-4:])
		x := uint64(last) + uint64(first)<<32 ^ (secret(8) ^ secret(16))
		x ^= bits.RotateLeft64(x, 49) ^ bits.RotateLeft64(x, 24)
		x *= primeMix2
		x ^= x>>35 + uint64(n)
		x *= primeMix2
		return x ^ x>>28
	case n <= 16:
		lo := binary.LittleEndian.Uint64(b) ^ (secret(24) ^ secret(32))
		hi := binary.LittleEndian.Uint64(b[n-8:]) ^ (secret(40) ^ secret(48))
		return avalanche(uint64(n) + bits.ReverseBytes64(lo) + hi + fold(lo, hi))
	case n <= 128:
		acc := uint64(n) * prime64x1
		for i := (n - 1) / 32; i >= 0; i-- {
			acc += mix(b[16*i:], 32*i) + mix(b[n-16*(i+1):], 32*i+16)
		}
		return avalanche(acc)
	case n <= 240:
		acc := uint64(n) * prime64x1
		for i := range 8 {
			acc += mix(b[16*i:], 16*i)
		}
		acc = avalanche(acc)
		for i := 8; i < n/16; i++ {
			acc += mix(b[16*i:], 16*(i-8)+3)
		}
		return avalanche(acc + mix(b[n-16:], 136-17))
	}
	return xxh3Long(b)
}

func xxh3Long(b []byte) uint64 {
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	for i := range (len(b) - 1) / stripeBytes {
		accumulate(&acc, b[i*stripeBytes:], 8*(i%blockStripes))
		if i%blockStripes == blockStripes-1 {
			scramble(&acc)
		}
	}
	accumulate(&acc, b[len(b)-stripeBytes:], len(xxhSecret)-stripeBytes-lastStripeSkip)
	sum := uint64(len(b)) * prime64x1
	for i := range 4 {
		sum += fold(acc[2*i]^secret(mergeSkip+16*i), acc[2*i+1]^secret(mergeSkip+16*i+8))
	}
	return avalanche(sum)
}

func accumulate(acc *[8]uint64, b []byte, at int) {
	for i := range 8 {
		v := binary.LittleEndian.Uint64(b[8*i:])
		k := v ^ secret(at+8*i)
		acc[i^1] += v
		acc[i] += uint64(uint32(k)) * (k >> 32)
	}
}

func scramble(acc *[8]uint64) {
	for i := range acc {
		acc[i] = (acc[i] ^ acc[i]>>47 ^ secret(len(xxhSecret)-stripeBytes+8*i)) * prime32x1
	}
}

// secret is the secret's word at a position.
func secret(at int) uint64 { return binary.LittleEndian.Uint64([]byte(xxhSecret[at : at+8])) }

func mix(b []byte, at int) uint64 {
	return fold(binary.LittleEndian.Uint64(b)^secret(at), binary.LittleEndian.Uint64(b[8:])^secret(at+8))
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func avalanche(x uint64) uint64 {
	x = (x ^ x>>37) * primeMix1
	return x ^ x>>32
}

func avalanche64(x uint64) uint64 {
	x = (x ^ x>>33) * prime64x2
	x = (x ^ x>>29) * prime64x3
	return x ^ x>>32
}

// appendJavaString appends a string's UTF-16 units and their number.
func appendJavaString(b []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(units)))
}
