"""What the tests of holdfast, of its engines and of your programs are made with."""
