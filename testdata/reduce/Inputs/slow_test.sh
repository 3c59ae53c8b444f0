#!/bin/sh
# Takes its time to find a product.
sleep 0.3
grep -q multiply "$1"
