module example.test/pot

go 1.20
